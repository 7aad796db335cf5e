//! Nodes that compute or decide in another way, or have an impossible lease: they are in no ring with this node
//! (`docs/jitterbug.md`, sections 1 and 9).

use std::collections::BTreeMap;
use std::net::IpAddr;

use ring_codec::jitterbug::{Node, Terms, TokenId};

use super::rival::{Rank, Rival};
use super::{Difference, Event, Jitterbug, terms};
use crate::time::Instant;

/// The most that are remembered.
const MOST: usize = 64;

/// Nodes of other rings.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    /// When each was heard last, and what keeps it apart.
    heard: BTreeMap<IpAddr, (Instant, Difference)>,
    /// The strongest of their leaders.
    leader: Rival,
}

impl Jitterbug {
    /// Whether what a node sent belongs to another ring. The node is named then.
    pub(super) fn is_foreign(&mut self, from: IpAddr, terms: Option<&Terms>) -> bool {
        let Some(how) = terms.and_then(|terms| terms::separates(terms, &self.options)) else {
            self.foreign.heard.remove(&from);
            return false;
        };
        let known = self.foreign.heard.get(&from).map(|(_, how)| *how);
        if known.is_some() || self.foreign.heard.len() < MOST {
            self.foreign.heard.insert(from, (self.now, how));
        }
        if known != Some(how) {
            self.out.event(Event::NodeDiffers { node: from, how });
        }
        true
    }

    /// A leader of another ring was heard.
    pub(super) fn note_foreign_leader(&mut self, leader: Node, id: TokenId, terms: Option<Terms>) {
        let rank = Rank {
            is_followed: terms.map(|terms| terms.is_followed),
            id,
        };
        let period = self.options.renew_timeout;
        self.foreign.leader.note(rank, leader, self.now, period);
    }

    /// Whether the stronger one of two rings on the segment is the other: programs use one token at a time.
    #[must_use]
    pub fn is_outranked(&self) -> bool {
        let period = self.options.renew_timeout;
        let above = self.foreign.leader.above(self.rank(), self.now, period);
        above.is_some()
    }

    /// Nodes of other rings that were heard within 4 × `renew_timeout`, and what keeps each apart.
    pub(super) fn foreign(&self) -> impl Iterator<Item = (IpAddr, Difference)> {
        let since = self.options.renew_timeout.saturating_mul(4);
        let heard = self.foreign.heard.iter();
        let heard = heard.filter(move |(_, (at, _))| self.now.since(*at) < since);
        heard.map(|(node, (_, how))| (*node, *how))
    }

    /// Whether a node was of another ring when it was heard last.
    pub(super) fn is_of_another_ring(&self, node: IpAddr) -> bool {
        self.foreign.heard.contains_key(&node)
    }
}
