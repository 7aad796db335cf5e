//! The latest events, for clients that watch them. Each event has a number, a text, and keys that only its system has.

use std::rc::Rc;

use ring_control::{EventHead, EventMessage};
use ring_proto::time::Now;
use serde::Serialize;

use super::{Priority, Recent};

/// An event with its time. `K` contains the keys that only the event's system has.
#[derive(Debug)]
pub struct HistoryEntry<K> {
    time_ms: u64,
    text: Rc<EventText<K>>,
}

impl<K> Clone for HistoryEntry<K> {
    fn clone(&self) -> Self {
        Self {
            time_ms: self.time_ms,
            text: Rc::clone(&self.text),
        }
    }
}

#[derive(Debug)]
struct EventText<K> {
    event: &'static str,
    text: String,
    keys: K,
}

impl<K> HistoryEntry<K> {
    /// Returns the time of the event, in milliseconds since 1970.
    pub const fn time_ms(&self) -> u64 {
        self.time_ms
    }

    /// Returns the keys that only the event's system has.
    pub fn keys(&self) -> &K {
        &self.text.keys
    }
}

impl<K: Serialize> HistoryEntry<K> {
    /// Makes the message about this event for watchers.
    pub fn message(&self, number: u64) -> EventMessage {
        let EventText { event, text, keys } = &*self.text;
        let head = EventHead {
            number,
            time_ms: self.time_ms,
            event: (*event).to_owned(),
            text: Some(text.clone()),
        };
        EventMessage::new(&head, keys)
    }
}

/// The latest events.
#[derive(Debug)]
pub struct History<K>(Recent<HistoryEntry<K>>);

impl<K> History<K> {
    /// Makes an empty history.
    pub fn new(now: Now) -> Self {
        Self(Recent::new(now))
    }

    /// Returns the events with their numbers.
    pub const fn recent(&self) -> &Recent<HistoryEntry<K>> {
        &self.0
    }

    /// Adds an event.
    pub fn add(
        &mut self,
        now: Now,
        (event, text): (&'static str, String),
        keys: K,
        priority: Priority,
    ) {
        let entry = HistoryEntry {
            time_ms: now.wall / 1_000_000,
            text: Rc::new(EventText { event, text, keys }),
        };
        self.0.remember(entry, priority);
    }
}

impl<K: Default> History<K> {
    /// Adds an event about a problem of this machine, or about the end of such a problem.
    pub fn add_problem(&mut self, now: Now, event: &'static str, text: String) {
        self.add(now, (event, text), K::default(), Priority::News);
    }
}
