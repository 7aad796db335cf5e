//! Nodes with a different computation or decision than this node, or with an impossible lease. Such nodes cannot be in
//! one ring with this node (`docs/jitterbug/protocol/terms.md` F1 to F8).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::jitterbug::Difference;
use crate::time::Instant;

/// The maximum number of remembered nodes of other rings. The number is limited, because such nodes are easy to forge.
const FOREIGN_NODES_MAX: usize = 64;

/// Nodes of other rings.
#[derive(Debug, Default)]
pub(crate) struct ForeignNodes {
    heard: BTreeMap<IpAddr, (Instant, Difference)>,
}

impl ForeignNodes {
    /// Notes a node of another ring. Returns whether the node or its difference is new.
    pub(crate) fn note(&mut self, from: IpAddr, how: Difference, now: Instant) -> bool {
        let known = self.heard.get(&from).map(|(_, how)| *how);
        // A flood of forged nodes must not displace the known nodes.
        if known.is_some() || self.heard.len() < FOREIGN_NODES_MAX {
            self.heard.insert(from, (now, how));
        }
        known != Some(how)
    }

    /// Forgets a node because its terms are no longer different.
    pub(crate) fn forget(&mut self, node: IpAddr) {
        self.heard.remove(&node);
    }

    /// Returns the nodes that were heard less than `age` ago, and their differences.
    pub(crate) fn heard_within(
        &self,
        now: Instant,
        age: Duration,
    ) -> impl Iterator<Item = (IpAddr, Difference)> {
        let heard = self.heard.iter();
        let heard = heard.filter(move |(_, (at, _))| now.since(*at) < age);
        heard.map(|(node, (_, how))| (*node, *how))
    }

    /// Whether a node belonged to another ring when it was last heard.
    pub(crate) fn has(&self, node: IpAddr) -> bool {
        self.heard.contains_key(&node)
    }
}
