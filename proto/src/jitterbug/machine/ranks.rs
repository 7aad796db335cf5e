//! The strength of the node's token compared with other tokens (`docs/jitterbug/protocol/announcements.md` N4 to N6).

use std::net::IpAddr;

use ring_codec::jitterbug::{Node, Terms, TokenId};

use super::Jitterbug;
use crate::jitterbug::Event;
use crate::jitterbug::tokens::{HeardLeader, Rank};
use crate::time::Instant;

impl Jitterbug {
    /// Returns the strength of the node's token.
    pub(super) fn rank(&self) -> Rank {
        let period = self.options.renew_timeout;
        Rank {
            is_followed: Some(self.follow_state.is_followed(self.now, period)),
            id: self.token_id,
        }
    }

    /// Whether this node knows a stronger token than the token `incoming` of the node `from`.
    pub(super) fn knows_stronger(&self, from: IpAddr, incoming: Rank) -> bool {
        let period = self.options.renew_timeout;
        let asked = self.peers.last_asked(from);
        // If the giver asked for objections and now leads, the leader of that token did not object. So that leader is
        // gone.
        let holds = |rank: Rank, at: Instant| {
            let is_larger = rank.id.compare(incoming.id).is_gt();
            rank.is_above(incoming) && (is_larger || asked.is_none_or(|asked| asked < at))
        };
        let passed_token = self.passed_token.if_recent(self.now, period);
        if passed_token.is_some_and(|(rank, at)| holds(rank, at)) {
            return true;
        }
        let heard = self.rival.if_recent(self.now, period);
        let heard = heard.filter(|heard| {
            // A token without followers must not replace a token that other nodes follow.
            let is_lone = incoming.is_followed == Some(false);
            is_lone && heard.rank.is_followed == Some(true) && heard.leader.ip != from
        });
        heard.is_some_and(|heard| holds(heard.rank, heard.at))
    }

    /// If a different leader of the same ring has a stronger token than this node, returns this leader.
    pub(super) fn stronger(&self) -> Option<HeardLeader> {
        let period = self.options.renew_timeout;
        self.rival.above(self.rank(), self.now, period)
    }

    /// Notes a leader of this node's ring.
    pub(super) fn note_rival(&mut self, leader: Node, id: TokenId, terms: Option<Terms>) {
        let period = self.options.renew_timeout;
        let before = self.stronger();
        let rank = Rank::of(id, terms);
        self.rival.note(rank, leader, self.now, period);
        // Announcements repeat, so the node reports only the first announcement.
        if before.is_none() && self.stronger().is_some() {
            self.out.push_event(Event::RivalHeard {
                token_id: id.random(),
                from: leader.ip,
            });
        }
    }

    /// Notes a leader of another ring.
    pub(super) fn note_foreign_leader(&mut self, leader: Node, id: TokenId, terms: Option<Terms>) {
        let period = self.options.renew_timeout;
        let rank = Rank::of(id, terms);
        self.foreign_leader.note(rank, leader, self.now, period);
    }

    /// Whether another ring on the segment has a stronger token. If there are two rings, only programs in the ring with
    /// the stronger token may use their token.
    pub fn is_outranked(&self) -> bool {
        let period = self.options.renew_timeout;
        let above = self.foreign_leader.above(self.rank(), self.now, period);
        above.is_some()
    }
}
