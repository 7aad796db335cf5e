//! The highest configuration number seen, which is stored before it is used (`docs/ftn.md`, section 1).

use std::time::Duration;

use super::{Durable, Event, Server};
use crate::Stored;
use crate::time::Instant;

#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct Storage {
    seen: u64,
    stored: u64,
    /// When to try again to store what could not be.
    again: Option<Instant>,
}

impl Storage {
    pub(super) const fn new(durable: Durable) -> Self {
        Self {
            seen: durable.configuration,
            stored: durable.configuration,
            again: None,
        }
    }

    /// The highest configuration number seen.
    pub(super) const fn seen(&self) -> u64 {
        self.seen
    }

    /// A message, or this server, names a configuration.
    pub(super) fn see(&mut self, configuration: u64) {
        self.seen = self.seen.max(configuration);
    }

    /// When to try again to store what could not be.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.again
    }
}

impl Server {
    /// What is to be stored before the next datagram leaves.
    pub(super) fn to_store(&self) -> Option<Durable> {
        let Storage {
            seen,
            stored,
            again,
        } = self.storage;
        (seen > stored && again.is_none()).then_some(Durable {
            configuration: seen,
        })
    }

    /// What could not be stored has not left this server: it is mute until it can, as if it were cut off.
    pub(super) fn on_stored(&mut self, now: Instant, stored: Stored, pause: Duration) {
        let failed = stored == Stored::Failed;
        if failed {
            self.storage.again = Some(now + pause);
            self.out.clear();
        } else {
            self.storage.stored = self.storage.seen;
        }
        if failed != self.out.is_mute {
            self.out.is_mute = failed;
            self.out.event(Event::StorageChanged { failed });
        }
    }

    pub(super) fn on_store_due(&mut self, now: Instant) {
        if self.storage.again.is_some_and(|due| due <= now) {
            self.storage.again = None;
        }
    }
}
