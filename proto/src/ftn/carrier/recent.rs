//! Something for each of several peers. Where it gets too much those that are silent go, then those that take too long, then
//! those that have come to an end last, and of those that have not come to one those that have begun last. So each comes to
//! its end in turn, and two peers do not drive out each other for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::{KEPT_FOR, PEER, SILENT_FOR, TOTAL_MAX, TURN_MAX};
use crate::time::Instant;

#[derive(Debug, Clone, Hash)]
pub(super) struct Recent<T> {
    by_peer: BTreeMap<SocketAddr, Entry<T>>,
    ages: BTreeSet<(Instant, SocketAddr)>,
    turns: BTreeSet<(Instant, SocketAddr)>,
    /// The same peers, the first to go last.
    order: BTreeSet<(Turn, SocketAddr)>,
    bytes: usize,
    limit: usize,
}

#[derive(Debug, Clone, Hash)]
struct Entry<T> {
    at: Instant,
    /// `None`: nothing of it is under way.
    turn: Option<Turn>,
    /// When it came to an end last.
    ended: Option<Instant>,
    bytes: usize,
    value: T,
}

/// What is under way of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Turn {
    /// When it came to an end last before.
    ended: Option<Instant>,
    /// When it began to take more and more.
    begun: Instant,
}

/// What a peer takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    /// So many bytes; 0: it is forgotten.
    pub(super) bytes: usize,
    /// Whether a message is under way; otherwise they are few.
    pub(super) is_under_way: bool,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self::limited(TOTAL_MAX)
    }
}

impl<T> Recent<T> {
    /// Nothing yet, and at most so many bytes, unless a peer alone takes more.
    pub(super) const fn limited(limit: usize) -> Self {
        Self {
            by_peer: BTreeMap::new(),
            ages: BTreeSet::new(),
            turns: BTreeSet::new(),
            order: BTreeSet::new(),
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

    /// Changes what there is of a peer, and returns what it takes then.
    pub(super) fn change<R>(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        change: impl FnOnce(&mut T) -> (Weight, R),
    ) -> R {
        let before = self.remove(peer);
        let (turn, before, ended, mut value) = before.map_or_else(Default::default, |it| {
            (it.turn, it.bytes, it.ended, it.value)
        });
        let (weight, result) = change(&mut value);
        if weight.bytes > 0 {
            let bytes = weight.bytes + PEER;
            let goes_on = turn.filter(|_| before <= bytes);
            let ended = if turn.is_some() && goes_on.is_none() {
                Some(now)
            } else {
                ended
            };
            let turn = weight
                .is_under_way
                .then(|| goes_on.unwrap_or(Turn { ended, begun: now }));
            self.bytes += bytes;
            self.ages.insert((now, peer));
            self.turns.extend(turn.map(|turn| (turn.begun, peer)));
            self.order.extend(turn.map(|turn| (turn, peer)));
            let entry = Entry {
                at: now,
                turn,
                ended,
                bytes,
                value,
            };
            self.by_peer.insert(peer, entry);
        }
        self.make_room(now);
        result
    }

    /// Forgets a peer.
    pub(super) fn take(&mut self, peer: SocketAddr) -> Option<T> {
        self.remove(peer).map(|entry| entry.value)
    }

    fn remove(&mut self, peer: SocketAddr) -> Option<Entry<T>> {
        let entry = self.by_peer.remove(&peer)?;
        self.ages.remove(&(entry.at, peer));
        if let Some(turn) = entry.turn {
            self.turns.remove(&(turn.begun, peer));
            self.order.remove(&(turn, peer));
        }
        self.bytes -= entry.bytes;
        Some(entry)
    }

    /// Forgets peers that were silent for long, and others for as long as there is too much.
    fn make_room(&mut self, now: Instant) {
        while let Some(peer) = self.victim(now) {
            self.remove(peer);
        }
    }

    fn victim(&self, now: Instant) -> Option<SocketAddr> {
        let &(heard, silent) = self.ages.first()?;
        let silence = now.since(heard);
        if silence >= KEPT_FOR {
            return Some(silent);
        }
        if self.bytes <= self.limit {
            return None;
        }
        if silence >= SILENT_FOR {
            return Some(silent);
        }
        if self.turns.len() < 2 {
            // What may be under way alone stays, however much it is.
            let is_idle = |peer: &SocketAddr| self.by_peer[peer].turn.is_none();
            return self.ages.iter().map(|&(_, peer)| peer).find(is_idle);
        }
        let &(begun, longest) = self.turns.first()?;
        let &(_, latest) = self.order.last()?;
        let is_long = now.since(begun) >= TURN_MAX;
        Some(if is_long { longest } else { latest })
    }
}
