//! Who sees a node's events: the log, those who watch, hooks, and the lock.

use ring_host::Priority;
use ring_proto::jitterbug::Event;
use ring_proto::time::Now;
use ring_runtime::driver::Observe;

use tracing::{info, warn};

use super::history::History;
use super::starvation::{News, Starvation};
use crate::system::jitterbug::observe::{Log, Rate, describe, print};

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
        let is_drop = matches!(event, Event::Dropped { .. });
        if is_drop && !self.log.is_verbose() {
            return;
        }
        let before = self.history.state();
        let line = describe(event, before);
        let rate = line.keys.rate;
        match self.log.admit(now.monotonic, rate) {
            Some(hidden) => print(&line, hidden),
            // As many as strangers please: watchers get as many as the log.
            None if is_drop => return,
            None => {}
        }
        let priority = match rate {
            Rate::Rare | Rate::Difference => Priority::News,
            Rate::Turn | Rate::Drop => Priority::Routine,
            Rate::Pass | Rate::Program | Rate::Node | Rate::Refusal => Priority::Passing,
        };
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
