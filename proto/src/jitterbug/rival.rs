//! How strong tokens are, and the strongest announcement heard (`docs/jitterbug.md`, section 8).

use std::time::Duration;

use ring_codec::jitterbug::{Node, TokenId};

use crate::time::Instant;

/// How strong a token is: being followed comes before the id.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rank {
    /// Whether other nodes follow it; `None`: its leader does not say.
    pub(super) is_followed: Option<bool>,
    pub(super) id: TokenId,
}

impl Rank {
    /// Whether it is stronger than another.
    pub(super) fn is_above(self, other: Self) -> bool {
        match (self.is_followed, other.is_followed) {
            (Some(one), Some(other)) if one != other => one,
            _ => self.id.compare(other.id).is_gt(),
        }
    }
}

/// A leader that was heard.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    pub(super) rank: Rank,
    pub(super) leader: Node,
    pub(super) at: Instant,
}

/// The strongest announcement of late.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rival(Option<Heard>);

impl Rival {
    /// An announcement was heard. One of another leader that is younger than `period` stays if it is stronger.
    pub(super) fn note(&mut self, rank: Rank, leader: Node, now: Instant, period: Duration) {
        let stays = self
            .of_late(now, period)
            .is_some_and(|known| known.leader.ip != leader.ip && known.rank.is_above(rank));
        if !stays {
            self.0 = Some(Heard {
                rank,
                leader,
                at: now,
            });
        }
    }

    /// The leader of a token that is stronger than this, if one was heard less than a `period` ago.
    pub(super) fn above(self, rank: Rank, now: Instant, period: Duration) -> Option<Heard> {
        let heard = self.of_late(now, period);
        heard.filter(|heard| heard.rank.is_above(rank))
    }

    /// The strongest announcement, if it is younger than a `period`.
    pub(super) fn of_late(self, now: Instant, period: Duration) -> Option<Heard> {
        self.0.filter(|heard| now.since(heard.at) < period)
    }

    pub(super) const fn forget(&mut self) {
        self.0 = None;
    }
}
