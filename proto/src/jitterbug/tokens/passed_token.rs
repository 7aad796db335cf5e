//! The last token that this node passed on (`docs/jitterbug/protocol/passing.md` P8).

use std::time::Duration;

use super::rank::Rank;
use crate::time::Instant;

/// The token of the last successful pass, and the time of that pass.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PassedToken(Option<(Rank, Instant)>);

impl PassedToken {
    pub(crate) const fn note(&mut self, rank: Rank, now: Instant) {
        self.0 = Some((rank, now));
    }

    /// Forgets the token. This node now has a token that is equally strong, or that replaces the passed token.
    pub(crate) const fn forget(&mut self) {
        self.0 = None;
    }

    pub(crate) const fn is_forgotten(self) -> bool {
        self.0.is_none()
    }

    /// Returns the token that this node passed on less than a `period` ago, and the time of the pass. This token still
    /// exists.
    pub(crate) fn if_recent(self, now: Instant, period: Duration) -> Option<(Rank, Instant)> {
        self.0.filter(|(_, at)| now.since(*at) < period)
    }
}
