//! Who sees a node's events: the log, those who watch, hooks, and the lock.

use ring_host::Priority;
use ring_proto::jitterbug::{Acceptance, Event};
use ring_proto::time::Now;
use ring_runtime::driver::Observe;

use tracing::{info, warn};

use super::history::History;
use super::starvation::{News, Starvation};
use crate::system::jitterbug::observe::{Log, describe, is_turn, print};

/// All observers of events.
#[derive(Debug)]
pub(super) struct Audience {
    pub log: Log,
    pub history: History,
    /// How often local work has lost the token: more often than a look now and then shows.
    pub ends_of_use: u64,
    pub starvation: Starvation,
}

impl Observe<Event> for Audience {
    fn observe(&mut self, now: Now, event: &Event) {
        if let Event::UseChanged { may_use: false } | Event::Stalled { .. } = event {
            self.ends_of_use += 1;
        }
        let before = self.history.state();
        let admitted = self.log.admit(now.monotonic, event, before);
        let priority = match event {
            // As many as strangers please: watchers get as many as the log.
            Event::Dropped { .. } if admitted.is_none() => return,
            Event::StateChanged { state, .. } if is_turn(before, *state) => Priority::Routine,
            Event::Dropped { .. }
            | Event::UseChanged { .. }
            | Event::Passed { .. }
            | Event::PassAborted { .. }
            | Event::DataChanged { .. }
            | Event::Accepted {
                how: Acceptance::Taken,
                ..
            } => Priority::Routine,
            // What goes on failing does so turn after turn, and nodes come by the thousand.
            Event::PassFailed { .. }
            | Event::ComputeFailed
            | Event::DecideFailed
            | Event::DataDropped
            | Event::NodeAdded { .. }
            | Event::NodeForgotten { .. }
            | Event::ListCut { .. }
            | Event::NodeRefused { .. } => Priority::Passing,
            _ => Priority::News,
        };
        let line = describe(event, before);
        if let Some(hidden) = admitted {
            print(&line, hidden);
        }
        match event {
            Event::StateChanged { state, token_id } => {
                self.history.enter(now, (*state, *token_id), line, priority);
                if let Some(news) = self.starvation.enter(before, *state) {
                    self.tell(now, news);
                }
            }
            _ => self.history.remember(now, line, priority),
        }
    }
}

impl Audience {
    fn tell(&mut self, now: Now, news: News) {
        let (event, text) = news.told();
        match news {
            News::Starves => warn!(event, "{text}"),
            News::IsFed => info!(event, "{text}"),
        }
        self.history.trouble(now, event, text.to_owned());
    }
}
