//! Data of a leader: rounds, acknowledgements, renewals and silent sessions (`docs/ftn.md`, section 4).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::ftn::RETRY;
use crate::ftn::server::group::PendingIds;
use crate::time::Instant;

/// Data that end with the leadership.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Leadership {
    /// Data of each server, by index; the leader's own entry is unused.
    peers: Vec<PeerState>,
    /// Sending times of the rounds of the last ¾ ST.
    sent: VecDeque<(i128, Instant)>,
    /// Due time of the next regular round.
    round_due: Instant,
    /// Due time of a round for a change.
    early_round_due: Option<Instant>,
    last_round_at: Instant,
    /// Whether the list of sessions has changed since the last round.
    has_list_changed: bool,
    /// Sessions that no round has listed yet.
    unlisted: Vec<i32>,
    /// Renewals to confirm: session and msgnum.
    confirmations: BTreeMap<i32, i64>,
    pending: PendingIds,
    /// When to check each session for silence. Each session has one entry, at its `due`.
    expiry: BTreeSet<(Instant, i32)>,
    /// End of the time in which sessions are adopted.
    grace: Option<Instant>,
    had_authority: bool,
    /// Time of the take-over, or of the last doubt.
    since: Instant,
}

/// Data of another server.
#[derive(Debug, Clone, Copy, Hash)]
struct PeerState {
    heard: Instant,
    /// Newest acknowledged seq; 0 if none.
    acknowledged_seq: i128,
    /// When that seq was sent.
    acknowledged_sent_at: Option<Instant>,
    /// First seq of the server's present state.
    state_began: i128,
}

impl Leadership {
    pub(crate) fn new(now: Instant, servers: usize, seq: i128, grace: Option<Instant>) -> Self {
        let peer = PeerState {
            heard: now,
            acknowledged_seq: 0,
            acknowledged_sent_at: None,
            // HEARTBEATs from before the take-over are late.
            state_began: seq,
        };
        Self {
            peers: vec![peer; servers],
            sent: VecDeque::new(),
            round_due: now,
            early_round_due: None,
            last_round_at: Instant::default(),
            has_list_changed: false,
            unlisted: Vec::new(),
            confirmations: BTreeMap::new(),
            pending: PendingIds::default(),
            expiry: BTreeSet::new(),
            grace,
            had_authority: false,
            since: now,
        }
    }

    /// Whether the leader adopts sessions.
    pub(crate) const fn is_in_grace(&self) -> bool {
        self.grace.is_some()
    }

    /// Returns the end of the time in which the leader adopts sessions.
    pub(crate) const fn grace(&self) -> Option<Instant> {
        self.grace
    }

    /// Adds a session to the next STATE. The session ends at `due` unless the leader hears of it.
    pub(crate) fn add_session(&mut self, id: i32, due: Instant) {
        self.unlisted.push(id);
        self.has_list_changed = true;
        self.expiry.insert((due, id));
    }

    // All data of the session are deleted, because a client can begin and end sessions at any rate.
    pub(crate) fn remove_session(&mut self, id: i32, due: Instant) {
        self.has_list_changed = true;
        self.confirmations.remove(&id);
        self.expiry.remove(&(due, id));
    }

    /// Restarts all measurements, because the leader is in doubt about its knowledge. It adopts sessions for `grace`,
    /// and has as much time to find followers as after a take-over.
    pub(crate) fn restart_measurements(
        &mut self,
        now: Instant,
        state_began: i128,
        grace: Duration,
    ) {
        for peer in &mut self.peers {
            peer.heard = now;
            peer.state_began = state_began;
            // Rounds from before the doubt give no authority.
            peer.acknowledged_sent_at = None;
        }
        self.since = now;
        self.grace = (!grace.is_zero()).then(|| now + grace);
    }

    /// Makes a round due at once, but at most one every RETRY.
    pub(crate) fn schedule_early_round(&mut self, now: Instant) {
        let due = (self.last_round_at + RETRY).max(now);
        self.early_round_due = Some(self.early_round_due.map_or(due, |urgent| urgent.min(due)));
    }

    /// Returns the time of the take-over, or of the last doubt.
    pub(crate) const fn since(&self) -> Instant {
        self.since
    }

    /// Starts the round `seq`. Returns the sessions that it is the first to list.
    pub(crate) fn begin_round(&mut self, seq: i128, now: Instant, lease: Duration) -> Vec<i32> {
        self.has_list_changed = false;
        self.last_round_at = now;
        self.early_round_due = None;
        let is_old = |(_, at): &(i128, Instant)| now.since(*at) > lease;
        // Acknowledgements of older rounds give no authority.
        while self.sent.front().is_some_and(is_old) {
            self.sent.pop_front();
        }
        self.sent.push_back((seq, now));
        std::mem::take(&mut self.unlisted)
    }

    pub(crate) fn last_round(&self) -> Option<i128> {
        self.sent.back().map(|(seq, _)| *seq)
    }

    /// Sets when the next regular round is due.
    pub(crate) const fn schedule_round(&mut self, due: Instant) {
        self.round_due = due;
    }

    pub(crate) fn is_round_due(&self, now: Instant) -> bool {
        self.round_due <= now
    }

    /// Returns the kind of round for a change, if one is due.
    pub(crate) fn take_early_round(&mut self, now: Instant) -> Option<EarlyRound> {
        if self.has_list_changed && self.early_round_due.is_none() {
            self.schedule_early_round(now);
        }
        self.early_round_due.take_if(|due| *due <= now)?;
        Some(if self.has_list_changed {
            EarlyRound::List
        } else {
            EarlyRound::Renewals
        })
    }

    /// Records that a server was heard.
    pub(crate) fn record_heard(&mut self, server: usize, at: Instant) {
        let heard = &mut self.peers[server].heard;
        *heard = at.max(*heard);
    }

    /// Returns when a server was last heard.
    pub(crate) fn last_heard(&self, server: usize) -> Instant {
        self.peers[server].heard
    }

    /// Records that a server has a new state from this seq on.
    pub(crate) fn begin_state(&mut self, server: usize, seq: i128) {
        self.peers[server].state_began = seq;
    }

    /// Whether a seq is from before the server's present state.
    pub(crate) fn is_late(&self, server: usize, seq: i128) -> bool {
        seq < self.peers[server].state_began
    }

    /// Records that a server acknowledges a seq. A seq from its state file is ignored: this leader has not sent it.
    pub(crate) fn acknowledge(&mut self, server: usize, seq: i128) {
        let sent = self.sent.binary_search_by_key(&seq, |(seq, _)| *seq);
        let peer = &mut self.peers[server];
        if let Some((_, sent)) = sent.ok().and_then(|at| self.sent.get(at))
            && seq > peer.acknowledged_seq
        {
            peer.acknowledged_seq = seq;
            peer.acknowledged_sent_at = Some(*sent);
        }
    }

    /// Returns the newest seq that a server has acknowledged, or 0 if none.
    pub(crate) fn acknowledged_seq(&self, server: usize) -> i128 {
        self.peers[server].acknowledged_seq
    }

    /// Returns when that seq was sent.
    pub(crate) fn acknowledged_sent_at(&self, server: usize) -> Option<Instant> {
        self.peers[server].acknowledged_sent_at
    }

    /// Records whether the leader has authority, and returns whether that has changed.
    pub(crate) const fn set_authority(&mut self, has: bool) -> bool {
        let is_news = self.had_authority != has;
        self.had_authority = has;
        is_news
    }

    /// Ends the time in which sessions are adopted if it is over, and returns whether it was.
    pub(crate) fn end_grace(&mut self, now: Instant) -> bool {
        self.grace.take_if(|end| *end <= now).is_some()
    }

    /// Records a renewal to confirm.
    pub(crate) fn add_renewal(&mut self, id: i32, msgnum: i64) {
        let waiting = self.confirmations.entry(id).or_insert(msgnum);
        // The renewal that was sent last gives the longest lease.
        *waiting = msgnum.max(*waiting);
    }

    /// Returns the renewals to confirm: session and msgnum.
    pub(crate) fn renewals(&self) -> impl Iterator<Item = (i32, i64)> {
        self.confirmations.iter().map(|(&id, &msgnum)| (id, msgnum))
    }

    pub(crate) fn on_confirmed(&mut self, id: i32) {
        self.confirmations.remove(&id);
    }

    /// Returns the ids that clients have received and not used yet.
    pub(crate) const fn pending(&mut self) -> &mut PendingIds {
        &mut self.pending
    }

    /// Returns the next session to check for silence.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Option<i32> {
        let (_, id) = self
            .expiry
            .first()
            .copied()
            .filter(|(due, _)| *due <= now)?;
        self.expiry.pop_first();
        Some(id)
    }

    /// Sets when to check a session for silence again.
    pub(crate) fn watch_session(&mut self, id: i32, due: Instant) {
        self.expiry.insert((due, id));
    }

    pub(crate) fn watched_count(&self) -> usize {
        self.expiry.len()
    }

    /// Returns when to check the next session for silence.
    pub(crate) fn expiry_due(&self) -> Option<Instant> {
        self.expiry.first().map(|(due, _)| *due)
    }

    /// Returns when the next round is due, or when the time to adopt sessions ends.
    pub(crate) fn due(&self) -> Instant {
        let others = self.early_round_due.into_iter().chain(self.grace);
        others.fold(self.round_due, Instant::min)
    }
}

/// Reason of a round before its regular time.
pub(crate) enum EarlyRound {
    /// The list of sessions has changed.
    List,
    /// Renewals wait for an acknowledgement.
    Renewals,
}
