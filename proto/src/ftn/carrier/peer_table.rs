//! A bounded table with one value for each peer. The table deletes peers when the memory is full.
//!
//! The table first deletes silent peers, and then peers whose message takes too long. Next the table deletes the peer
//! that completed a message most recently. If no peer has completed a message, the table deletes the peer whose message
//! began last. So the peers complete their messages one after the other. Two peers cannot delete each other's messages
//! indefinitely.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::{ACTIVITY_MAX, PEER_BYTES, PEER_TIMEOUT, SILENT_AFTER, TOTAL_MAX};
use crate::time::Instant;

#[derive(Debug, Clone, Hash)]
pub(super) struct PeerTable<T> {
    by_peer: BTreeMap<SocketAddr, PeerEntry<T>>,
    by_last_change: BTreeSet<(Instant, SocketAddr)>,
    /// Peers with a message under way, ordered by the time at which the message began to grow.
    by_activity_start: BTreeSet<(Instant, SocketAddr)>,
    /// Peers with a message under way. The table deletes the last peer of this set first.
    by_eviction: BTreeSet<(Activity, SocketAddr)>,
    bytes: usize,
    limit: usize,
}

#[derive(Debug, Clone, Hash)]
struct PeerEntry<T> {
    changed: Instant,
    /// Activity of the message under way; `None` if no message is under way.
    activity: Option<Activity>,
    /// Time at which the last message was completed, or at which a new message replaced it.
    completed: Option<Instant>,
    bytes: usize,
    value: T,
}

/// Progress of the message that a peer has under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
// The order of the fields is the order of deletion. `None` sorts first, so a peer that has completed no message stays
// longer.
struct Activity {
    /// Time at which the peer completed an earlier message.
    completed: Option<Instant>,
    /// Start of the period in which the memory of the peer has never become smaller.
    started: Instant,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryUse {
    /// Memory in bytes. The table deletes a peer with 0 bytes.
    pub(super) bytes: usize,
    /// Whether a message is under way. If no message is under way, the peer takes only a few bytes.
    pub(super) is_under_way: bool,
}

impl<T> Default for PeerTable<T> {
    fn default() -> Self {
        Self::with_limit(TOTAL_MAX)
    }
}

impl<T> PeerTable<T> {
    /// Returns an empty table with a limit of `limit` bytes. A single peer may exceed this limit.
    pub(super) const fn with_limit(limit: usize) -> Self {
        Self {
            by_peer: BTreeMap::new(),
            by_last_change: BTreeSet::new(),
            by_activity_start: BTreeSet::new(),
            by_eviction: BTreeSet::new(),
            bytes: 0,
            limit,
        }
    }
}

impl<T: Default> PeerTable<T> {
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn get(&self, peer: SocketAddr) -> Option<&T> {
        self.by_peer.get(&peer).map(|entry| &entry.value)
    }

    /// Changes the value of a peer. `change` returns the peer's memory after the change.
    pub(super) fn change<R>(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        change: impl FnOnce(&mut T) -> (MemoryUse, R),
    ) -> R {
        // The peer is removed and inserted again, because its keys in all three indexes change.
        let before = self.remove(peer);
        let (activity, before, completed, mut value) = before.map_or_else(Default::default, |it| {
            (it.activity, it.bytes, it.completed, it.value)
        });
        let (memory, result) = change(&mut value);
        if memory.bytes > 0 {
            let bytes = memory.bytes + PEER_BYTES;
            // Less memory than before means that a message was completed. If the memory has grown, the same activity
            // continues.
            let goes_on = activity.filter(|_| before <= bytes);
            let completed = if activity.is_some() && goes_on.is_none() {
                Some(now)
            } else {
                completed
            };
            let activity = memory.is_under_way.then(|| {
                goes_on.unwrap_or(Activity {
                    completed,
                    started: now,
                })
            });
            self.bytes += bytes;
            self.by_last_change.insert((now, peer));
            self.by_activity_start
                .extend(activity.map(|activity| (activity.started, peer)));
            self.by_eviction
                .extend(activity.map(|activity| (activity, peer)));
            let entry = PeerEntry {
                changed: now,
                activity,
                completed,
                bytes,
                value,
            };
            self.by_peer.insert(peer, entry);
        }
        // The peer is inserted first, because the peer that has just grown may be the one to delete.
        self.evict(now);
        result
    }

    pub(super) fn forget(&mut self, peer: SocketAddr) {
        self.remove(peer);
    }

    fn remove(&mut self, peer: SocketAddr) -> Option<PeerEntry<T>> {
        let entry = self.by_peer.remove(&peer)?;
        self.by_last_change.remove(&(entry.changed, peer));
        if let Some(activity) = entry.activity {
            self.by_activity_start.remove(&(activity.started, peer));
            self.by_eviction.remove(&(activity, peer));
        }
        self.bytes -= entry.bytes;
        Some(entry)
    }

    /// Deletes peers that were silent for long. While too much memory is in use, deletes other peers too.
    fn evict(&mut self, now: Instant) {
        while let Some(peer) = self.next_to_evict(now) {
            self.remove(peer);
        }
    }

    fn next_to_evict(&self, now: Instant) -> Option<SocketAddr> {
        let &(heard, silent) = self.by_last_change.first()?;
        let silence = now.since(heard);
        if silence >= PEER_TIMEOUT {
            return Some(silent);
        }
        if self.bytes <= self.limit {
            return None;
        }
        if silence >= SILENT_AFTER {
            return Some(silent);
        }
        if self.by_activity_start.len() < 2 {
            // A single message may take more than the limit. Otherwise a message that is longer than the limit could
            // never arrive.
            let is_idle = |peer: &SocketAddr| self.by_peer[peer].activity.is_none();
            return self
                .by_last_change
                .iter()
                .map(|&(_, peer)| peer)
                .find(is_idle);
        }
        let &(started, longest) = self.by_activity_start.first()?;
        let &(_, latest) = self.by_eviction.last()?;
        let is_long = now.since(started) >= ACTIVITY_MAX;
        // A message that never ends must not block all other messages.
        Some(if is_long { longest } else { latest })
    }
}
