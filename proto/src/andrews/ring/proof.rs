//! Proof that the network is there, and the connections that look for it (`docs/board.md`, section 6).

use std::collections::BTreeMap;

use crate::StreamId;
use crate::time::Instant;

/// The most connections that look for it at a time.
const PROBES_MAX: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// When another node was last heard, or has accepted or refused a connection.
    last: Option<Instant>,
    /// Nodes to connect to, and then those that were.
    wanted: Vec<u32>,
    open: BTreeMap<StreamId, Instant>,
}

impl Proof {
    pub(crate) const fn note(&mut self, now: Instant) {
        self.last = Some(now);
    }

    pub(crate) fn is_there_since(&self, since: Instant) -> bool {
        self.last.is_some_and(|last| last >= since)
    }

    /// How many connections look for it, or are to.
    pub(crate) fn probes(&self) -> usize {
        self.wanted.len() + self.open.len()
    }

    pub(crate) fn has_room(&self) -> bool {
        self.probes() <= PROBES_MAX
    }

    /// Wants a connection to a node.
    pub(crate) fn want(&mut self, id: u32) {
        if self.probes() < PROBES_MAX && !self.wanted.contains(&id) {
            self.wanted.push(id);
        }
    }

    /// The node that is connected to next.
    pub(crate) fn next_wanted(&mut self) -> Option<u32> {
        self.wanted.pop()
    }

    pub(crate) fn opened(&mut self, id: StreamId, until: Instant) {
        self.open.insert(id, until);
    }

    /// Forgets a connection. Returns whether it was one of these.
    pub(crate) fn remove(&mut self, id: StreamId) -> bool {
        self.open.remove(&id).is_some()
    }

    /// Every connection.
    pub(crate) fn all(&self) -> impl Iterator<Item = StreamId> {
        self.open.keys().copied()
    }

    /// Forgets those that are late, and returns them.
    pub(crate) fn take_late(&mut self, now: Instant) -> Vec<StreamId> {
        let late = self.open.iter().filter(|(_, until)| **until <= now);
        let late = late.map(|(&id, _)| id).collect();
        self.open.retain(|_, until| *until > now);
        late
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.open.values().copied().min()
    }

    /// Nothing is looked for any longer.
    pub(crate) fn give_up(&mut self) {
        self.wanted.clear();
        self.open.clear();
    }
}

#[cfg(test)]
impl Proof {
    /// Wants one more than it may.
    pub(crate) fn spoil(&mut self) {
        self.wanted = vec![1; PROBES_MAX + 1];
    }
}
