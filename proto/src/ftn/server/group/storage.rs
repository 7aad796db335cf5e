//! The highest configuration number seen, which is stored before it is used (`docs/ftn.md`, section 1).

use crate::ftn::server::Durable;
use crate::time::Instant;

#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Storage {
    seen: u64,
    stored: u64,
    /// When to try again to store what could not be.
    again: Option<Instant>,
}

impl Storage {
    pub(crate) const fn new(durable: Durable) -> Self {
        Self {
            seen: durable.configuration,
            stored: durable.configuration,
            again: None,
        }
    }

    /// The highest configuration number seen.
    pub(crate) const fn seen(&self) -> u64 {
        self.seen
    }

    /// A message, or this server, names a configuration.
    pub(crate) fn see(&mut self, configuration: u64) {
        self.seen = self.seen.max(configuration);
    }

    /// When to try again to store what could not be.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.again
    }

    /// What is to be stored before the next datagram leaves.
    pub(crate) fn unstored(&self) -> Option<Durable> {
        let Self {
            seen,
            stored,
            again,
        } = *self;
        (seen > stored && again.is_none()).then_some(Durable {
            configuration: seen,
        })
    }

    /// What was seen is stored.
    pub(crate) const fn on_stored(&mut self) {
        self.stored = self.seen;
    }

    /// What was seen could not be stored. It is tried again at `again`.
    pub(crate) const fn on_failed(&mut self, again: Instant) {
        self.again = Some(again);
    }

    pub(crate) fn on_due(&mut self, now: Instant) {
        self.again.take_if(|due| *due <= now);
    }
}
