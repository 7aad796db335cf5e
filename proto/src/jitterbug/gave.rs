//! The token that was given away last (`docs/jitterbug.md`, section 2).

use std::time::Duration;

use ring_codec::jitterbug::TokenId;

use crate::time::Instant;

/// The id of the last token that was given away in a pass that is done, and when.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gave(Option<(TokenId, Instant)>);

impl Gave {
    pub(super) const fn note(&mut self, id: TokenId, now: Instant) {
        self.0 = Some((id, now));
    }

    /// The node has a token again: that one is as strong, or replaces it, and nobody else has what was given away.
    pub(super) const fn forget(&mut self) {
        self.0 = None;
    }

    /// Whether a token stronger than `id` was given away less than a `period` ago: it is still about.
    pub(super) fn is_stronger(self, id: TokenId, now: Instant, period: Duration) -> bool {
        self.0
            .is_some_and(|(gave, at)| gave.compare(id).is_gt() && now.since(at) < period)
    }
}
