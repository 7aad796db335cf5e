//! The data of an owner: whether it may change its tables (`docs/reference/lab2/locks.md`).

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::fence;
use super::record::Key;
use super::table::Version;
use crate::lab2::machine::Writer;
use crate::time::Instant;

/// The data of an owner under one token.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct Duty {
    token: Token,
    since: Instant,
    /// The time from which this owner may grant locks of the table `Others`. Before this time, holders may still claim
    /// locks.
    settled_at: Instant,
    /// The giver and the digest of its table `Others`; `None` when this node has the same table.
    wanted: Option<(MacAddr, u64)>,
    /// Whether a majority agreed to the table `Quorum` under this token. Before the agreement, this owner must not
    /// change the table.
    opened: bool,
    /// The last time at which this node asked the members to confirm the tenure, because requests wait for a quorum.
    asked: Option<Instant>,
    /// The number of changes under this token.
    changes: u64,
    /// Held records of the table `Quorum`. Their members do not know yet that a majority has stored these records.
    unconfirmed: Vec<Key>,
}

impl Duty {
    pub(super) fn new(
        token: Token,
        now: Instant,
        (settled_at, wanted): (Instant, Option<(MacAddr, u64)>),
    ) -> Self {
        Self {
            token,
            since: now,
            settled_at,
            wanted,
            opened: false,
            asked: None,
            changes: 0,
            unconfirmed: Vec::new(),
        }
    }

    pub(super) const fn token(&self) -> Token {
        self.token
    }

    pub(super) const fn since(&self) -> Instant {
        self.since
    }

    pub(super) const fn settled_at(&self) -> Instant {
        self.settled_at
    }

    pub(super) const fn is_opened(&self) -> bool {
        self.opened
    }

    /// Returns the member that this node asks for the table `Others`. Returns `None` if this node may change the table.
    pub(super) fn asks(&self) -> Option<MacAddr> {
        self.wanted.map(|(giver, _)| giver)
    }

    /// Notes the digest of this node's table `Others`. If it is the giver's digest, this node may change the table.
    pub(super) fn note_table(&mut self, digest: u64) {
        self.wanted.take_if(|(_, wanted)| *wanted == digest);
    }

    /// Gives up asking for the giver's table `Others`. Holders claim the missing locks until `settled_at`.
    pub(super) fn stop_asking(&mut self, settled_at: Instant) {
        (self.wanted, self.settled_at) = (None, self.settled_at.max(settled_at));
    }

    /// Continues under a token that this node minted at the time `now`. No member has agreed under this token yet.
    pub(super) fn rename(&mut self, token: Token, now: Instant) {
        (self.token, self.since, self.opened, self.changes) = (token, now, false, 0);
    }

    /// Delays grants of locks of the table `Others` until this time.
    pub(super) fn wait_for_claims(&mut self, until: Instant) {
        self.settled_at = self.settled_at.max(until);
    }

    /// Returns the number of changes under this token.
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Numbers a new change, and returns its version. Its fencing token is stronger than the fencing tokens in `used`.
    pub(super) fn next_version(&mut self, used: impl Iterator<Item = Token>) -> Version {
        let used = used.map(|fence| fence::last_change_up_to(self.token, fence));
        self.changes = used.fold(self.changes, u64::max).saturating_add(1);
        Version {
            token: self.token,
            change: self.changes,
        }
    }

    /// Notes that this node asks the members now to confirm the tenure. Returns `false` if it asked less than `pause`
    /// ago.
    pub(super) fn ask_again(&mut self, now: Instant, pause: Duration) -> bool {
        let may_ask = self.asked.is_none_or(|asked| asked + pause <= now);
        if may_ask {
            self.asked = Some(now);
        }
        may_ask
    }

    pub(super) const fn asked_at(&self) -> Option<Instant> {
        self.asked
    }

    pub(super) fn note_opened(&mut self) {
        self.opened = true;
    }

    pub(super) fn add_unconfirmed(&mut self, key: Key) {
        self.unconfirmed.push(key);
    }

    pub(super) fn take_unconfirmed(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.unconfirmed)
    }

    /// Whether members wait until a majority has stored their records.
    pub(super) fn has_unconfirmed(&self) -> bool {
        !self.unconfirmed.is_empty()
    }
}

impl Duty {
    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            token,
            since,
            settled_at,
            wanted,
            opened,
            asked,
            changes,
            unconfirmed,
        } = self;
        let now = writer.now;
        (token, now.since(*since), settled_at.since(now), wanted).hash(writer);
        let asked = asked.map(|at| now.since(at));
        (opened, asked, changes, unconfirmed).hash(writer);
    }
}
