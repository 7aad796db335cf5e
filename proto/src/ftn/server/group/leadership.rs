//! Data of a leader: rounds, acknowledgements, renewals and silent sessions (`docs/token-service/protocol/leader.md`
//! L1 to L12).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::ftn::RETRY;
use crate::ftn::server::group::PendingIds;
use crate::time::Instant;

/// Maximum number of sessions in a short list.
const SHORT_LIST_SESSIONS_MAX: usize = 20;
/// Minimum time between two rounds that announce a change of a short list.
const SHORT_LIST_INTERVAL: Duration = Duration::from_millis(10);

/// Data that exist only during the leadership.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Leadership {
    /// Data of each server, by index. The leader's own entry is unused.
    peers: Vec<PeerState>,
    /// Sending times of the rounds during the last ¾ ST.
    sent: VecDeque<(i128, Instant)>,
    /// Due time of the next regular round.
    round_due: Instant,
    /// Due time of an early round. Such a round announces a change.
    early_round_due: Option<Instant>,
    last_round_at: Instant,
    /// Whether the list of sessions changed since the last round.
    has_list_changed: bool,
    /// Sessions that no round has listed yet.
    unlisted: Vec<i32>,
    /// Renewals to confirm: session and msgnum.
    confirmations: BTreeMap<i32, i64>,
    pending: PendingIds,
    /// Times at which the leader checks whether a session is silent. Each session has one entry. The entry's time is
    /// the session's `due`.
    expiry: BTreeSet<(Instant, i32)>,
    /// End of the grace. During the grace, the leader adopts sessions.
    grace: Option<Instant>,
    had_authority: bool,
    /// Time at which this server became the leader, or time of the leader's last doubt.
    since: Instant,
}

/// Data of another server.
#[derive(Debug, Clone, Copy, Hash)]
struct PeerState {
    heard: Instant,
    /// Newest acknowledged seq, or 0.
    acknowledged_seq: i128,
    /// Sending time of the newest acknowledged seq.
    acknowledged_sent_at: Option<Instant>,
    /// Seq of the first round that announced the server's present state.
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
            // This time is long ago, so that the first change is sent at once.
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

    /// Returns the end of the grace. During the grace, the leader adopts sessions.
    pub(crate) const fn grace(&self) -> Option<Instant> {
        self.grace
    }

    /// Adds a session to the next STATE. The session ends at `due` unless its client sends a message before.
    pub(crate) fn add_session(&mut self, id: i32, due: Instant) {
        self.unlisted.push(id);
        self.has_list_changed = true;
        self.expiry.insert((due, id));
    }

    // All data of the session are deleted, because a client can begin and end many sessions in a short time.
    pub(crate) fn remove_session(&mut self, id: i32, due: Instant) {
        self.has_list_changed = true;
        self.confirmations.remove(&id);
        self.expiry.remove(&(due, id));
    }

    /// Restarts all measurements, because the leader is in doubt about its knowledge. The leader in doubt then adopts
    /// sessions for the time `grace`. The leader has the same time to find followers as a new leader.
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
        // A grace of zero would otherwise last until the next timeout.
        self.grace = (!grace.is_zero()).then(|| now + grace);
    }

    /// Makes a round due at once, or when the interval since the last round is over.
    pub(crate) fn schedule_early_round(&mut self, now: Instant) {
        // A client that logs in waits for this round. A short list fits one datagram, so it may be sent often.
        let is_short = self.expiry.len() <= SHORT_LIST_SESSIONS_MAX;
        let interval = if self.has_list_changed && is_short {
            SHORT_LIST_INTERVAL
        } else {
            RETRY
        };
        let due = (self.last_round_at + interval).max(now);
        // Further changes must not postpone the round.
        self.early_round_due = Some(self.early_round_due.map_or(due, |urgent| urgent.min(due)));
    }

    /// Returns the time at which this server became the leader, or the time of the leader's last doubt.
    pub(crate) const fn since(&self) -> Instant {
        self.since
    }

    /// Starts the round `seq`. Returns the sessions that were in no earlier round.
    pub(crate) fn begin_round(&mut self, seq: i128, now: Instant, lease: Duration) -> Vec<i32> {
        self.has_list_changed = false;
        self.last_round_at = now;
        // Each round has the present list, so it also replaces an early round.
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

    /// Sets the due time of the next regular round.
    pub(crate) const fn schedule_round(&mut self, due: Instant) {
        self.round_due = due;
    }

    pub(crate) fn is_round_due(&self, now: Instant) -> bool {
        self.round_due <= now
    }

    /// If an early round is due, returns its kind.
    pub(crate) fn take_early_round(&mut self, now: Instant) -> Option<EarlyRound> {
        if self.has_list_changed {
            self.schedule_early_round(now);
        }
        self.early_round_due.take_if(|due| *due <= now)?;
        // A round with a new list goes to all servers, so it comes before a round that is only for renewals.
        Some(if self.has_list_changed {
            EarlyRound::List
        } else {
            EarlyRound::Renewals
        })
    }

    pub(crate) fn record_heard(&mut self, server: usize, at: Instant) {
        let heard = &mut self.peers[server].heard;
        // Datagrams can arrive in a different order.
        *heard = at.max(*heard);
    }

    pub(crate) fn last_heard(&self, server: usize) -> Instant {
        self.peers[server].heard
    }

    /// Records that a server has a new state. The round `seq` is the first round that announces it.
    pub(crate) fn begin_state(&mut self, server: usize, seq: i128) {
        self.peers[server].state_began = seq;
    }

    /// Whether a seq belongs to a round that the leader sent before it announced the server's present state.
    pub(crate) fn is_late(&self, server: usize, seq: i128) -> bool {
        seq < self.peers[server].state_began
    }

    /// Records that a server acknowledges a seq. Ignores a seq that this leader did not send, for example a seq from
    /// the server's state file.
    pub(crate) fn acknowledge(&mut self, server: usize, seq: i128) {
        let sent = self.sent.binary_search_by_key(&seq, |(seq, _)| *seq);
        let peer = &mut self.peers[server];
        if let Some((_, sent)) = sent.ok().and_then(|at| self.sent.get(at))
            // An older HEARTBEAT that arrives late must not shorten the authority.
            && seq > peer.acknowledged_seq
        {
            peer.acknowledged_seq = seq;
            peer.acknowledged_sent_at = Some(*sent);
        }
    }

    /// Returns the newest seq that a server acknowledged, or 0 if there is no such seq.
    pub(crate) fn acknowledged_seq(&self, server: usize) -> i128 {
        self.peers[server].acknowledged_seq
    }

    /// Returns the sending time of the newest seq that a server acknowledged.
    pub(crate) fn acknowledged_sent_at(&self, server: usize) -> Option<Instant> {
        self.peers[server].acknowledged_sent_at
    }

    /// Records whether the leader has authority, and returns whether this is a change.
    pub(crate) const fn set_authority(&mut self, has: bool) -> bool {
        let is_news = self.had_authority != has;
        self.had_authority = has;
        is_news
    }

    /// Ends the grace if its time is over. Returns whether this call ended the grace.
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

    /// Returns the ids that clients have received but not used yet.
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

    /// Sets the time of the next check whether a session is silent.
    pub(crate) fn watch_session(&mut self, id: i32, due: Instant) {
        self.expiry.insert((due, id));
    }

    pub(crate) fn watched_count(&self) -> usize {
        self.expiry.len()
    }

    /// Returns the time of the next check whether a session is silent.
    pub(crate) fn expiry_due(&self) -> Option<Instant> {
        self.expiry.first().map(|(due, _)| *due)
    }

    /// Returns the due time of the next round, or the end of the grace.
    pub(crate) fn due(&self) -> Instant {
        let others = self.early_round_due.into_iter().chain(self.grace);
        others.fold(self.round_due, Instant::min)
    }
}

/// Reason of a round before its regular time.
pub(crate) enum EarlyRound {
    /// The list of sessions changed.
    List,
    /// Renewals wait for an acknowledgement.
    Renewals,
}
