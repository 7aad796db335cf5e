//! Nodes that compute or decide in another way, or have an impossible lease: they are in no ring with this node
//! (`docs/jitterbug.md`, sections 1 and 9).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::jitterbug::Difference;
use crate::time::Instant;

/// The most that are remembered.
const MOST: usize = 64;

/// Nodes of other rings.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    /// When each was heard last, and what keeps it apart.
    heard: BTreeMap<IpAddr, (Instant, Difference)>,
}

impl Foreign {
    /// A node was heard that this keeps apart. Returns whether that is news.
    pub(crate) fn note(&mut self, from: IpAddr, how: Difference, now: Instant) -> bool {
        let known = self.heard.get(&from).map(|(_, how)| *how);
        if known.is_some() || self.heard.len() < MOST {
            self.heard.insert(from, (now, how));
        }
        known != Some(how)
    }

    /// Nothing keeps a node apart any more.
    pub(crate) fn forget(&mut self, node: IpAddr) {
        self.heard.remove(&node);
    }

    /// Nodes that were heard less than `age` ago, and what keeps each apart.
    pub(crate) fn of_late(
        &self,
        now: Instant,
        age: Duration,
    ) -> impl Iterator<Item = (IpAddr, Difference)> {
        let heard = self.heard.iter();
        let heard = heard.filter(move |(_, (at, _))| now.since(*at) < age);
        heard.map(|(node, (_, how))| (*node, *how))
    }

    /// Whether a node was of another ring when it was heard last.
    pub(crate) fn has(&self, node: IpAddr) -> bool {
        self.heard.contains_key(&node)
    }
}
