//! Whether the network is there (`docs/board.md`, section 6).

use std::collections::BTreeMap;

use crate::StreamId;
use crate::time::Instant;

/// Proof that the network is there, and the connections that look for it.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// When another node was last heard, or has accepted or refused a connection.
    last: Option<Instant>,
    /// Nodes to connect to, and then those that were.
    pub(crate) wanted: Vec<u32>,
    pub(crate) open: BTreeMap<StreamId, Instant>,
}

impl Proof {
    /// The most connections that look for it at a time.
    pub(crate) const MOST: usize = 4;

    pub(crate) const fn note(&mut self, now: Instant) {
        self.last = Some(now);
    }

    pub(crate) fn is_there_since(&self, since: Instant) -> bool {
        self.last.is_some_and(|last| last >= since)
    }

    /// Wants a connection to a node.
    pub(crate) fn want(&mut self, id: u32) {
        if self.wanted.len() + self.open.len() < Self::MOST && !self.wanted.contains(&id) {
            self.wanted.push(id);
        }
    }
}
