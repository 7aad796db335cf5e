//! The observers of a node's events: the log, watchers, hooks and the lock.

use ring_host::Priority;
use ring_proto::jitterbug::Event;
use ring_proto::time::Now;
use ring_runtime::driver::Observe;

use tracing::{info, warn};

use super::history::History;
use super::starvation::{Starvation, StarvationEvent};
use crate::system::jitterbug::observe::{EventRate, Log, describe, print};

#[derive(Debug)]
pub(super) struct Observers {
    pub log: Log,
    pub history: History,
    /// The number of times that local work lost the token. The number also counts short losses, which the machine's
    /// state does not always show.
    pub use_losses: u64,
    pub starvation: Starvation,
}

impl Observe<Event> for Observers {
    fn observe(&mut self, now: Now, event: &Event) {
        if let Event::UseChanged { may_use: false } | Event::Stalled { .. } = event {
            self.use_losses += 1;
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
            // Other machines determine the number of these events, so watchers get only the logged events.
            None if is_drop => return,
            None => {}
        }
        let priority = match rate {
            EventRate::Rare | EventRate::Difference => Priority::News,
            EventRate::Turn | EventRate::Drop => Priority::Routine,
            EventRate::Pass | EventRate::Program | EventRate::Node | EventRate::Refusal => {
                Priority::Passing
            }
        };
        match event {
            Event::StateChanged { state, token_id } => {
                self.history
                    .add_state_change(now, (*state, *token_id), line, priority);
                if let Some(news) = self.starvation.on_state_change(before, *state) {
                    self.report_starvation(now, news);
                }
            }
            _ => self.history.add(now, line, priority),
        }
    }
}

impl Observers {
    fn report_starvation(&mut self, now: Now, change: StarvationEvent) {
        let (event, text) = change.describe();
        match change {
            StarvationEvent::Starved => warn!(event, "{text}"),
            StarvationEvent::Recovered => info!(event, "{text}"),
        }
        self.history.add_problem(now, event, text.to_owned());
    }
}
