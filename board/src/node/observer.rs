//! Who sees a node's events: the log, and those who watch.

use ring_host::{History, Priority};
use ring_proto::andrews::Event;
use ring_proto::time::Now;
use ring_runtime::driver::Observe;

use crate::http::Replies;
use crate::observe::{Keys, Log, describe, is_routine, print};

/// All observers of events.
#[derive(Debug)]
pub(super) struct Audience {
    pub log: Log,
    pub history: History<Keys>,
    /// Who waits for the answer to a request.
    pub replies: Replies,
    /// Something has changed that `GET /ring` shows, and not with each turn of the token.
    pub has_news: bool,
}

impl Observe<Event> for Audience {
    fn observe(&mut self, now: Now, event: &Event) {
        if let Event::Answered { request, answer } = *event
            && let Some(reply) = self.replies.remove(&request)
        {
            // Who asked may have gone.
            let _ = reply.send(answer);
        }
        let admitted = self.log.admit(now.monotonic, event);
        let priority = match event {
            // As many as strangers please: watchers get as many as the log.
            Event::Dropped { .. } if admitted.is_none() => return,
            event if is_routine(event) => Priority::Routine,
            _ => Priority::News,
        };
        let Some(line) = describe(event) else { return };
        self.has_news |= priority == Priority::News;
        if let Some(hidden) = admitted {
            print(&line, hidden);
        }
        self.history
            .remember(now, (line.event, line.text), line.keys, priority);
    }
}
