//! The latest events, numbered, for watchers.

use std::rc::Rc;

use ring_proto::time::Now;
use serde::Serialize;

use crate::control::{EventHead, EventMessage};
use crate::host::{Priority, Recent};
use crate::observe::ftn::Told;

/// An event, and when it was.
#[derive(Debug, Clone)]
pub struct Entry {
    time_ms: u64,
    what: Rc<What>,
}

#[derive(Debug)]
struct What {
    event: &'static str,
    text: String,
    own: Own,
}

/// The keys of an event that are this system's own.
#[derive(Debug, Default, Serialize)]
struct Own {
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

impl Entry {
    /// As watchers are told it.
    pub fn message(&self, number: u64) -> EventMessage {
        let What { event, text, own } = &*self.what;
        let head = EventHead {
            number,
            time_ms: self.time_ms,
            event: (*event).to_owned(),
            text: Some(text.clone()),
        };
        EventMessage::new(&head, own)
    }
}

/// Retains events.
#[derive(Debug)]
pub struct History(Recent<Entry>);

impl History {
    /// No events yet.
    pub fn new(now: Now) -> Self {
        Self(Recent::new(now))
    }

    /// The events, by number.
    pub const fn recent(&self) -> &Recent<Entry> {
        &self.0
    }

    /// Something happened with the servers, sessions or tokens.
    pub fn remember(&mut self, now: Now, told: Told, priority: Priority) {
        let what = What {
            event: told.event,
            text: told.text,
            own: Own {
                configuration: told.configuration,
                server: told.server,
                session: told.session,
                address: told.address.map(|address| address.to_string()),
            },
        };
        self.add(now, what, priority);
    }

    /// Something is wrong with this machine, or no longer is.
    pub fn trouble(&mut self, now: Now, event: &'static str, text: String) {
        let own = Own::default();
        self.add(now, What { event, text, own }, Priority::News);
    }

    fn add(&mut self, now: Now, what: What, priority: Priority) {
        let entry = Entry {
            time_ms: now.wall / 1_000_000,
            what: Rc::new(what),
        };
        self.0.remember(entry, priority);
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::time::{Instant, Now};

    use super::History;
    use crate::host::Priority;
    use crate::observe::ftn::Told;

    #[test]
    fn an_event_has_its_sentence_and_the_keys_that_it_is_about() {
        let now = Now {
            monotonic: Instant::default(),
            wall: 5_000_000,
        };
        let mut history = History::new(now);
        let told = Told {
            event: "session_begun",
            level: tracing::Level::DEBUG,
            text: "session 7 has begun".to_owned(),
            configuration: None,
            server: None,
            session: Some(7),
            address: Some(([192, 0, 2, 1], 7).into()),
        };
        history.remember(now, told, Priority::Passing);
        let number = history.recent().latest();
        let entry = history.recent().get(number).unwrap();
        let text = format!(
            r#"{{"number":{number},"time_ms":5,"event":"session_begun","text":"session 7 has begun","session":7,"address":"192.0.2.1:7"}}"#
        );
        assert_eq!(entry.message(number).json().text(), text);
    }
}
