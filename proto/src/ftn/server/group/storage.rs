//! The highest configuration number seen, and whether it is stored (`docs/token-service/protocol/numbers.md` N5).

use crate::ftn::server::Durable;
use crate::time::Instant;

#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Storage {
    seen: u64,
    stored: u64,
    /// If storing failed: the time of the next attempt.
    retry_at: Option<Instant>,
}

impl Storage {
    pub(crate) const fn new(durable: Durable) -> Self {
        Self {
            seen: durable.configuration,
            stored: durable.configuration,
            retry_at: None,
        }
    }

    pub(crate) const fn largest_seen(&self) -> u64 {
        self.seen
    }

    /// Records a configuration number from a message or from this server.
    pub(crate) fn record(&mut self, configuration: u64) {
        // A late message must not lower the number.
        self.seen = self.seen.max(configuration);
    }

    /// If storing failed, returns the time of the next attempt.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Returns the value to store before the next datagram leaves.
    pub(crate) fn value_to_store(&self) -> Option<Durable> {
        let Self {
            seen,
            stored,
            retry_at,
        } = *self;
        // After a failure the server waits, so that a full disk does not keep it busy.
        (seen > stored && retry_at.is_none()).then_some(Durable {
            configuration: seen,
        })
    }

    pub(crate) const fn on_stored(&mut self) {
        self.stored = self.seen;
    }

    /// Records a failure to store the number. The next attempt is due at `retry_at`.
    pub(crate) const fn on_failed(&mut self, retry_at: Instant) {
        self.retry_at = Some(retry_at);
    }

    pub(crate) fn on_due(&mut self, now: Instant) {
        self.retry_at.take_if(|due| *due <= now);
    }
}
