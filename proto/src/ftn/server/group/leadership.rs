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
    peers: Vec<Peer>,
    /// When each round of the last ¾ ST was sent.
    sent: VecDeque<(i128, Instant)>,
    /// When the next regular round is due.
    regular: Instant,
    /// When a round for what has changed is due.
    urgent: Option<Instant>,
    last: Instant,
    /// The list of sessions is not the one of the last round.
    list_changed: bool,
    /// Sessions that no round has listed yet.
    unlisted: Vec<i32>,
    /// The renewals that are to be confirmed: the session's and its msgnum.
    confirmations: BTreeMap<i32, i64>,
    pending: Pending,
    /// When to look whether a session is silent; not before it is. A session has one entry, by its `due`.
    expiry: BTreeSet<(Instant, i32)>,
    /// Until when sessions are adopted.
    grace: Option<Instant>,
    had_authority: bool,
    /// When it took over, or came to doubt what it knew.
    since: Instant,
}

/// What the leader knows of another server.
#[derive(Debug, Clone, Copy, Hash)]
struct Peer {
    heard: Instant,
    /// The newest seq that it has acknowledged, 0: none.
    acked: i128,
    /// When that was sent.
    acked_sent: Option<Instant>,
    /// The seq at which its present state began.
    began: i128,
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

    /// When it took over, or came to doubt what it knew.
    pub(crate) const fn since(&self) -> Instant {
        self.since
    }

    /// The round `seq` is sent now. Returns the sessions that it is the first to list.
    pub(crate) fn begin_round(&mut self, seq: i128, now: Instant, lease: Duration) -> Vec<i32> {
        self.list_changed = false;
        self.last = now;
        self.urgent = None;
        let is_old = |(_, at): &(i128, Instant)| now.since(*at) > lease;
        while self.sent.front().is_some_and(is_old) {
            self.sent.pop_front();
        }
        self.sent.push_back((seq, now));
        std::mem::take(&mut self.unlisted)
    }

    /// The seq of the last round.
    #[cfg(debug_assertions)]
    pub(crate) fn last_round(&self) -> Option<i128> {
        self.sent.back().map(|(seq, _)| *seq)
    }

    /// The next regular round is due then.
    pub(crate) const fn plan_round(&mut self, due: Instant) {
        self.regular = due;
    }

    pub(crate) fn is_round_due(&self, now: Instant) -> bool {
        self.regular <= now
    }

    /// The round for what has changed, if it is due.
    pub(crate) fn take_urgent(&mut self, now: Instant) -> Option<Urgent> {
        if self.list_changed && self.urgent.is_none() {
            self.hasten(now);
        }
        self.urgent.take_if(|due| *due <= now)?;
        Some(if self.list_changed {
            Urgent::List
        } else {
            Urgent::Renewals
        })
    }

    /// A server was heard, or a part of its message.
    pub(crate) fn note_heard(&mut self, server: usize, at: Instant) {
        let heard = &mut self.peers[server].heard;
        *heard = at.max(*heard);
    }

    /// When a server was heard last.
    pub(crate) fn heard(&self, server: usize) -> Instant {
        self.peers[server].heard
    }

    /// A server has another state from this seq on.
    pub(crate) fn begin_state(&mut self, server: usize, seq: i128) {
        self.peers[server].began = seq;
    }

    /// Whether a server names a seq from before its present state.
    pub(crate) fn is_late(&self, server: usize, seq: i128) -> bool {
        seq < self.peers[server].began
    }

    /// A server names a seq. It may be from its state file, and no round of this leader.
    pub(crate) fn acknowledge(&mut self, server: usize, seq: i128) {
        let sent = self.sent.binary_search_by_key(&seq, |(seq, _)| *seq);
        let peer = &mut self.peers[server];
        if let Some((_, sent)) = sent.ok().and_then(|at| self.sent.get(at))
            && seq > peer.acked
        {
            peer.acked = seq;
            peer.acked_sent = Some(*sent);
        }
    }

    /// The newest seq that a server has acknowledged, 0: none.
    pub(crate) fn acked(&self, server: usize) -> i128 {
        self.peers[server].acked
    }

    /// When that was sent.
    pub(crate) fn acked_sent(&self, server: usize) -> Option<Instant> {
        self.peers[server].acked_sent
    }

    /// Whether authority has come or gone, which is noted.
    pub(crate) const fn note_authority(&mut self, has: bool) -> bool {
        let is_news = self.had_authority != has;
        self.had_authority = has;
        is_news
    }

    /// Whether the time is over in which sessions are adopted, which it is from then on.
    pub(crate) fn end_grace(&mut self, now: Instant) -> bool {
        self.grace.take_if(|end| *end <= now).is_some()
    }

    /// A session renews its lease.
    pub(crate) fn renew(&mut self, id: i32, msgnum: i64) {
        let waiting = self.confirmations.entry(id).or_insert(msgnum);
        *waiting = msgnum.max(*waiting);
    }

    /// The renewals that are to be confirmed: the session's and its msgnum.
    pub(crate) fn renewals(&self) -> impl Iterator<Item = (i32, i64)> {
        self.confirmations.iter().map(|(&id, &msgnum)| (id, msgnum))
    }

    /// A renewal is confirmed.
    pub(crate) fn on_confirmed(&mut self, id: i32) {
        self.confirmations.remove(&id);
    }

    /// The ids that were given to clients which have not used them yet.
    pub(crate) const fn pending(&mut self) -> &mut Pending {
        &mut self.pending
    }

    /// The next session to look at, since it may be silent.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Option<i32> {
        let (_, id) = self
            .expiry
            .first()
            .copied()
            .filter(|(due, _)| *due <= now)?;
        self.expiry.pop_first();
        Some(id)
    }

    /// A session that was not silent is to be looked at again.
    pub(crate) fn look_again(&mut self, id: i32, due: Instant) {
        self.expiry.insert((due, id));
    }

    /// How many sessions it looks at.
    #[cfg(debug_assertions)]
    pub(crate) fn watched(&self) -> usize {
        self.expiry.len()
    }

    /// When to look whether a session is silent.
    pub(crate) fn expiry_due(&self) -> Option<Instant> {
        self.expiry.first().map(|(due, _)| *due)
    }

    /// When a round is due, or the time is over in which sessions are adopted.
    pub(crate) fn due(&self) -> Instant {
        let others = self.urgent.into_iter().chain(self.grace);
        others.fold(self.regular, Instant::min)
    }
}

/// Why a round is due before its time.
pub(crate) enum Urgent {
    /// The list of sessions is not that of the last round.
    List,
    /// Renewals wait for an acknowledgement.
    Renewals,
}
