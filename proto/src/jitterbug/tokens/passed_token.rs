//! The token that was passed on last (`docs/jitterbug.md`, section 2).

use std::time::Duration;

use super::rank::Rank;
use crate::time::Instant;

/// The token that was passed on last in a pass that is done, and when.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PassedToken(Option<(Rank, Instant)>);

impl PassedToken {
    pub(crate) const fn note(&mut self, rank: Rank, now: Instant) {
        self.0 = Some((rank, now));
    }

    /// Forgets the token: the one that this node has now is as strong or replaces it.
    pub(crate) const fn forget(&mut self) {
        self.0 = None;
    }

    pub(crate) const fn is_forgotten(self) -> bool {
        self.0.is_none()
    }

    /// Returns the token that was passed on less than a `period` ago, and when. It still exists.
    pub(crate) fn if_recent(self, now: Instant, period: Duration) -> Option<(Rank, Instant)> {
        self.0.filter(|(_, at)| now.since(*at) < period)
    }
}
