//! The token that was given away last (`docs/jitterbug.md`, section 2).

use std::time::Duration;

use super::rank::Rank;
use crate::time::Instant;

/// The token that was given away last in a pass that is done, and when.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gave(Option<(Rank, Instant)>);

impl Gave {
    pub(crate) const fn note(&mut self, rank: Rank, now: Instant) {
        self.0 = Some((rank, now));
    }

    /// The node has a token again: that one is as strong, or replaces it, and nobody else has what was given away.
    pub(crate) const fn forget(&mut self) {
        self.0 = None;
    }

    #[cfg(debug_assertions)]
    pub(crate) const fn is_forgotten(self) -> bool {
        self.0.is_none()
    }

    /// The token that was given away less than a `period` ago, and when: it is still about.
    pub(crate) fn of_late(self, now: Instant, period: Duration) -> Option<(Rank, Instant)> {
        self.0.filter(|(_, at)| now.since(*at) < period)
    }
}
