//! The observers of a node's events: the log, clients of the control socket, and waiting requests.

use ring_host::{History, Priority};
use ring_proto::andrews::Event;
use ring_proto::time::Now;
use ring_runtime::driver::Observe;

use crate::http::ReplySenders;
use crate::observe::{Keys, Log, describe, is_routine, print};

#[derive(Debug)]
pub(super) struct EventObserver {
    pub log: Log,
    pub history: History<Keys>,
    /// The channels for the answers to requests.
    pub replies: ReplySenders,
    /// Whether the status has changed. A hop of the token does not count as a change.
    pub has_status_changed: bool,
}

impl Observe<Event> for EventObserver {
    fn observe(&mut self, now: Now, event: &Event) {
        if let Event::Answered { request, answer } = *event
            && let Some(reply) = self.replies.remove(&request)
        {
            // The client may have disconnected.
            let _ = reply.send(answer);
        }
        let admitted = self.log.admit(now.monotonic, event);
        let priority = match event {
            // Anyone can cause dropped frames, so watchers get no more lines about them than the log.
            Event::Dropped { .. } if admitted.is_none() => return,
            event if is_routine(event) => Priority::Routine,
            _ => Priority::News,
        };
        let Some(line) = describe(event) else { return };
        self.has_status_changed |= priority == Priority::News;
        if let Some(hidden) = admitted {
            print(&line, hidden);
        }
        self.history
            .add(now, (line.event, line.text), line.keys, priority);
    }
}
