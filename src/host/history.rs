//! The latest events as sentences with a system's own keys, numbered, for watchers.

use std::rc::Rc;

use ring_proto::time::Now;
use serde::Serialize;

use super::{Priority, Recent};
use crate::control::{EventHead, EventMessage};

/// An event, and when it was. `K` are the keys of an event that are its system's own.
#[derive(Debug)]
pub struct Entry<K> {
    time_ms: u64,
    what: Rc<What<K>>,
}

impl<K> Clone for Entry<K> {
    fn clone(&self) -> Self {
        Self {
            time_ms: self.time_ms,
            what: Rc::clone(&self.what),
        }
    }
}

#[derive(Debug)]
struct What<K> {
    event: &'static str,
    text: String,
    keys: K,
}

impl<K: Serialize> Entry<K> {
    /// As watchers are told it.
    #[must_use]
    pub fn message(&self, number: u64) -> EventMessage {
        let What { event, text, keys } = &*self.what;
        let head = EventHead {
            number,
            time_ms: self.time_ms,
            event: (*event).to_owned(),
            text: Some(text.clone()),
        };
        EventMessage::new(&head, keys)
    }
}

/// Retains events.
#[derive(Debug)]
pub struct History<K>(Recent<Entry<K>>);

impl<K> History<K> {
    /// No events yet.
    #[must_use]
    pub fn new(now: Now) -> Self {
        Self(Recent::new(now))
    }

    /// The events, by number.
    #[must_use]
    pub const fn recent(&self) -> &Recent<Entry<K>> {
        &self.0
    }

    /// Something happened.
    pub fn remember(
        &mut self,
        now: Now,
        (event, text): (&'static str, String),
        keys: K,
        priority: Priority,
    ) {
        let entry = Entry {
            time_ms: now.wall / 1_000_000,
            what: Rc::new(What { event, text, keys }),
        };
        self.0.remember(entry, priority);
    }
}

impl<K: Default> History<K> {
    /// Something is wrong with this machine, or no longer is.
    pub fn trouble(&mut self, now: Now, event: &'static str, text: String) {
        self.remember(now, (event, text), K::default(), Priority::News);
    }
}
