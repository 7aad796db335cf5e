//! The latest events as sentences with a system's own keys, numbered, for watchers.

use std::rc::Rc;

use ring_control::{EventHead, EventMessage};
use ring_proto::time::Now;
use serde::Serialize;

use super::{Priority, Recent};

/// An event, and when it was. `K` are the keys of an event that are its system's own.
#[derive(Debug)]
pub struct Entry<K> {
    time_ms: u64,
    told: Rc<EventText<K>>,
}

impl<K> Clone for Entry<K> {
    fn clone(&self) -> Self {
        Self {
            time_ms: self.time_ms,
            told: Rc::clone(&self.told),
        }
    }
}

#[derive(Debug)]
struct EventText<K> {
    event: &'static str,
    text: String,
    keys: K,
}

impl<K> Entry<K> {
    /// The time of the event, in milliseconds since 1970.
    pub const fn time_ms(&self) -> u64 {
        self.time_ms
    }

    /// What is its system's own.
    pub fn keys(&self) -> &K {
        &self.told.keys
    }
}

impl<K: Serialize> Entry<K> {
    /// As watchers are told it.
    pub fn message(&self, number: u64) -> EventMessage {
        let EventText { event, text, keys } = &*self.told;
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
    pub fn new(now: Now) -> Self {
        Self(Recent::new(now))
    }

    /// The events, by number.
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
            told: Rc::new(EventText { event, text, keys }),
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
