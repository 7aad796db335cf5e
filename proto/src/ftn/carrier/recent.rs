//! Something for each of several peers, of which the one that was silent longest goes first.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::{KEPT_FOR, PEER, TOTAL_MAX};
use crate::time::Instant;

#[derive(Debug, Clone, Hash)]
pub(super) struct Recent<T> {
    by_peer: BTreeMap<SocketAddr, Entry<T>>,
    ages: BTreeSet<(Instant, SocketAddr)>,
    bytes: usize,
    limit: usize,
}

#[derive(Debug, Clone, Hash)]
struct Entry<T> {
    at: Instant,
    bytes: usize,
    value: T,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self::limited(TOTAL_MAX)
    }
}

impl<T> Recent<T> {
    /// Nothing yet, and at most so many bytes besides those of the peer that was heard last.
    pub(super) const fn limited(limit: usize) -> Self {
        Self {
            by_peer: BTreeMap::new(),
            ages: BTreeSet::new(),
            bytes: 0,
            limit,
        }
    }
}

impl<T: Default> Recent<T> {
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn get(&self, peer: SocketAddr) -> Option<&T> {
        self.by_peer.get(&peer).map(|entry| &entry.value)
    }

    /// Changes what there is of a peer, which takes the returned number of bytes then; 0: it is forgotten.
    pub(super) fn change<R>(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        change: impl FnOnce(&mut T) -> (usize, R),
    ) -> R {
        let mut value = self.take(peer).unwrap_or_default();
        let (bytes, result) = change(&mut value);
        if bytes > 0 {
            let bytes = bytes + PEER;
            self.bytes += bytes;
            self.ages.insert((now, peer));
            let at = now;
            self.by_peer.insert(peer, Entry { at, bytes, value });
        }
        self.make_room(now, peer);
        result
    }

    /// Forgets a peer.
    pub(super) fn take(&mut self, peer: SocketAddr) -> Option<T> {
        let entry = self.by_peer.remove(&peer)?;
        self.ages.remove(&(entry.at, peer));
        self.bytes -= entry.bytes;
        Some(entry.value)
    }

    /// Forgets peers that were silent for long, and others but `newest` for as long as there is too much.
    fn make_room(&mut self, now: Instant, newest: SocketAddr) {
        while let Some(&(at, peer)) = self.ages.first() {
            let is_over = now.since(at) >= KEPT_FOR || self.bytes > self.limit;
            if peer == newest || !is_over {
                return;
            }
            self.take(peer);
        }
    }
}
