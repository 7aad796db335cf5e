//! How strong the own token is next to others (`docs/jitterbug.md`, section 8).

use std::net::IpAddr;

use ring_codec::jitterbug::{Node, Terms, TokenId};

use super::Jitterbug;
use crate::jitterbug::Event;
use crate::jitterbug::tokens::{Heard, Rank};
use crate::time::Instant;

impl Jitterbug {
    /// How strong the own token is.
    pub(super) fn rank(&self) -> Rank {
        let period = self.options.renew_timeout;
        Rank {
            is_followed: Some(self.company.is_followed(self.now, period)),
            id: self.token_id,
        }
    }

    /// Whether a stronger token than the one that came from a node is about, as far as this node knows.
    pub(super) fn knows_stronger(&self, from: IpAddr, incoming: Rank) -> bool {
        let period = self.options.renew_timeout;
        let asked = self.peers.last_asked(from);
        // The leader of a node that asked, and leads now, has not answered it: that leader is gone.
        let holds = |rank: Rank, at: Instant| {
            let is_larger = rank.id.compare(incoming.id).is_gt();
            rank.is_above(incoming) && (is_larger || asked.is_none_or(|asked| asked < at))
        };
        let gave = self.gave.of_late(self.now, period);
        if gave.is_some_and(|(rank, at)| holds(rank, at)) {
            return true;
        }
        let heard = self.rival.of_late(self.now, period);
        let heard = heard.filter(|heard| {
            let is_lone = incoming.is_followed == Some(false);
            is_lone && heard.rank.is_followed == Some(true) && heard.leader.ip != from
        });
        heard.is_some_and(|heard| holds(heard.rank, heard.at))
    }

    /// The rival that has a stronger token than the node's own.
    pub(super) fn stronger(&self) -> Option<Heard> {
        let period = self.options.renew_timeout;
        self.rival.above(self.rank(), self.now, period)
    }

    /// A leader of the own ring was heard.
    pub(super) fn note_rival(&mut self, leader: Node, id: TokenId, terms: Option<Terms>) {
        let period = self.options.renew_timeout;
        let before = self.stronger();
        let rank = Rank::of(id, terms);
        self.rival.note(rank, leader, self.now, period);
        if before.is_none() && self.stronger().is_some() {
            self.out.event(Event::RivalHeard {
                token_id: id.random(),
                from: leader.ip,
            });
        }
    }

    /// A leader of another ring was heard.
    pub(super) fn note_foreign_leader(&mut self, leader: Node, id: TokenId, terms: Option<Terms>) {
        let period = self.options.renew_timeout;
        let rank = Rank::of(id, terms);
        self.foreign_leader.note(rank, leader, self.now, period);
    }

    /// Whether the stronger one of two rings on the segment is the other: programs use one token at a time.
    pub fn is_outranked(&self) -> bool {
        let period = self.options.renew_timeout;
        let above = self.foreign_leader.above(self.rank(), self.now, period);
        above.is_some()
    }
}
