//! The strongest announcement heard (`docs/jitterbug.md`, section 8).

use std::time::Duration;

use ring_codec::jitterbug::{Node, TokenId};

use crate::time::Instant;

/// A leader that was heard.
#[derive(Debug, Clone, Copy)]
struct Heard {
    id: TokenId,
    leader: Node,
    at: Instant,
}

/// The strongest announcement of late.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rival(Option<Heard>);

impl Rival {
    /// An announcement was heard; one that is younger than `period` counts for more if its id is larger.
    pub(super) fn note(&mut self, id: TokenId, leader: Node, now: Instant, period: Duration) {
        let is_weaker =
            |known: &Heard| known.id.compare(id).is_gt() && now.since(known.at) < period;
        if self.0.as_ref().is_none_or(|known| !is_weaker(known)) {
            self.0 = Some(Heard {
                id,
                leader,
                at: now,
            });
        }
    }

    /// The leader of a token that is stronger than `id`, if one was heard less than a `period` ago.
    pub(super) fn above(self, id: TokenId, now: Instant, period: Duration) -> Option<Node> {
        let heard = self.0?;
        let counts = heard.id.compare(id).is_gt() && now.since(heard.at) < period;
        counts.then_some(heard.leader)
    }

    pub(super) const fn forget(&mut self) {
        self.0 = None;
    }
}
