//! The strongest announcement that was heard (`docs/jitterbug/protocol/announcements.md` N6).

use std::time::Duration;

use ring_codec::jitterbug::Node;

use super::rank::Rank;
use crate::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(crate) struct HeardLeader {
    pub(crate) rank: Rank,
    pub(crate) leader: Node,
    pub(crate) at: Instant,
}

/// The strongest recent announcement.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rival(Option<HeardLeader>);

impl Rival {
    /// Notes an announcement, unless another leader sent a stronger announcement less than a `period` ago.
    pub(crate) fn note(&mut self, rank: Rank, leader: Node, now: Instant, period: Duration) {
        let stays = self
            .if_recent(now, period)
            // A leader may lose its stronger token, so its newest announcement counts.
            .is_some_and(|known| known.leader.ip != leader.ip && known.rank.is_above(rank));
        if !stays {
            self.0 = Some(HeardLeader {
                rank,
                leader,
                at: now,
            });
        }
    }

    /// Returns the leader of a token that is stronger than `rank`, if such a leader was heard less than a `period` ago.
    pub(crate) fn above(self, rank: Rank, now: Instant, period: Duration) -> Option<HeardLeader> {
        let heard = self.if_recent(now, period);
        heard.filter(|heard| heard.rank.is_above(rank))
    }

    /// Returns the strongest announcement, if it is younger than a `period`.
    pub(crate) fn if_recent(self, now: Instant, period: Duration) -> Option<HeardLeader> {
        self.0.filter(|heard| now.since(heard.at) < period)
    }

    pub(crate) const fn forget(&mut self) {
        self.0 = None;
    }
}
