//! What a leader knows and does: take-over, configurations, the states of the others
//! (`docs/ftn.md`, section 4).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::ftn::RETRY;
use crate::ftn::server::group::Pending;
use crate::time::Instant;

/// What ends with the leadership.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Leadership {
    /// By index; the own one is not used.
    pub(crate) peers: Vec<Peer>,
    /// When each round of the last ¾ ST was sent.
    pub(crate) sent: VecDeque<(i128, Instant)>,
    /// When the next regular round is due.
    pub(crate) regular: Instant,
    /// When a round for what has changed is due.
    pub(crate) urgent: Option<Instant>,
    pub(crate) last: Instant,
    /// The list of sessions is not the one of the last round.
    pub(crate) list_changed: bool,
    /// Sessions that no round has listed yet.
    pub(crate) unlisted: Vec<i32>,
    /// The renewals that are to be confirmed: the session's and its msgnum.
    pub(crate) confirmations: BTreeMap<i32, i64>,
    pub(crate) pending: Pending,
    /// When to look whether a session is silent; not before it is. A session has one entry, by its `due`.
    pub(crate) expiry: BTreeSet<(Instant, i32)>,
    /// Until when sessions are adopted.
    pub(crate) grace: Option<Instant>,
    pub(crate) had_authority: bool,
    /// When it took over, or came to doubt what it knew.
    pub(crate) since: Instant,
}

/// What the leader knows of another server.
#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Peer {
    pub(crate) heard: Instant,
    /// The newest seq that it has acknowledged, 0: none.
    pub(crate) acked: i128,
    /// When that was sent.
    pub(crate) acked_sent: Option<Instant>,
    /// The seq at which its present state began.
    pub(crate) began: i128,
}

impl Leadership {
    pub(crate) fn new(now: Instant, servers: usize, seq: i128, grace: Option<Instant>) -> Self {
        let peer = Peer {
            heard: now,
            acked: 0,
            acked_sent: None,
            began: seq,
        };
        Self {
            peers: vec![peer; servers],
            sent: VecDeque::new(),
            regular: now,
            urgent: None,
            last: Instant::default(),
            list_changed: false,
            unlisted: Vec::new(),
            confirmations: BTreeMap::new(),
            pending: Pending::default(),
            expiry: BTreeSet::new(),
            grace,
            had_authority: false,
            since: now,
        }
    }

    /// Whether sessions are adopted.
    pub(crate) const fn is_in_grace(&self) -> bool {
        self.grace.is_some()
    }

    /// Until when sessions are adopted.
    pub(crate) const fn grace(&self) -> Option<Instant> {
        self.grace
    }

    /// A session is to be in the next STATE, and to end at `due` if nothing is heard of it.
    pub(crate) fn add(&mut self, id: i32, due: Instant) {
        self.unlisted.push(id);
        self.list_changed = true;
        self.expiry.insert((due, id));
    }

    /// A session has ended. Nothing of it stays here: a client can begin and end sessions at any rate.
    pub(crate) fn remove(&mut self, id: i32, due: Instant) {
        self.list_changed = true;
        self.confirmations.remove(&id);
        self.expiry.remove(&(due, id));
    }

    /// Nothing that it knew counts: not when servers became what they were or were heard, nor which sessions there are. So sessions
    /// are adopted for `grace`, and it has as long to find followers as one that has just taken over.
    pub(crate) fn begin_anew(&mut self, now: Instant, began: i128, grace: Duration) {
        for peer in &mut self.peers {
            peer.heard = now;
            peer.began = began;
            peer.acked_sent = None;
        }
        self.since = now;
        self.grace = (!grace.is_zero()).then(|| now + grace);
    }

    /// What has changed is to be told at once, but not more often than every RETRY.
    pub(crate) fn hasten(&mut self, now: Instant) {
        let due = (self.last + RETRY).max(now);
        self.urgent = Some(self.urgent.map_or(due, |urgent| urgent.min(due)));
    }
}
