//! Data that this node keeps about each member, and sends to no one.
//!
//! A simulated ring of 10,000 nodes has 10,000 tables of 10,000 members. So the data of every member are small, and
//! data that only few members have are stored separately.

use crate::penalty::Penalty;
use crate::throttle::Throttle;
use crate::time::Instant;

/// Data of every member: 24 bytes.
#[expect(
    clippy::struct_excessive_bools,
    reason = "properties that know nothing of each other"
)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Peer {
    /// When its last frame came, in nanoseconds; if none has, when a table first named it.
    pub(super) seen: u64,
    /// Whether a frame of it has come.
    pub(super) heard: bool,
    pub(super) penalty: Penalty,
    /// Whether it has sent WANT_TOKEN and has not had the token since.
    pub(super) wants: bool,
    /// Whether it is new and must still be sent PING.
    pub(super) owed_ping: bool,
    /// Whether it has announced itself that it has no IP address.
    pub(super) has_no_ip: bool,
    /// Whether it has wanted the token since before this node's last tenure ended.
    pub(super) overdue: bool,
    /// Whether it has announced that it owns nothing.
    pub(super) paused: bool,
    /// Whether it has failed to take the token in this tenure, and has sent only WANT_TOKEN since.
    pub(super) failed: bool,
    /// Whether it has announced that it is deaf.
    pub(super) deaf: bool,
    /// Whether it has sent LEAVING, and no frame since.
    pub(super) left: bool,
    /// Whether it has [`Notes`].
    pub(super) has_notes: bool,
    /// Whether people were told that it is silent.
    pub(super) told_silent: bool,
    /// Whether it has announced its version.
    pub(super) told_version: bool,
}

impl Peer {
    pub(crate) const fn was_heard(&self) -> bool {
        self.heard
    }

    pub(crate) const fn has_left(&self) -> bool {
        self.left
    }

    pub(crate) const fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) const fn is_told_silent(&self) -> bool {
        self.told_silent
    }

    /// Returns for how many more turns it is passed over.
    pub(crate) const fn penalty(&self) -> u32 {
        self.penalty.skips()
    }

    /// Returns when its last frame came; `None` if only tables have named it.
    pub(crate) fn last_seen(&self) -> Option<Instant> {
        self.heard.then(|| self.silent_since())
    }

    /// Returns since when it is silent.
    pub(crate) fn silent_since(&self) -> Instant {
        Instant::from_nanos(self.seen)
    }

    /// Whether it can own the token, as far as it has announced.
    pub(super) const fn may_own(&self) -> bool {
        !self.paused && !self.deaf
    }

    /// Whether it may be offered the token now. It must have been heard at `since` or later.
    pub(crate) fn is_eligible(&self, since: Instant) -> bool {
        self.may_own() && self.penalty.skips() == 0 && self.was_heard_since(since)
    }

    /// Whether it has left, or was not heard at `alive` or later.
    pub(crate) fn is_gone(&self, alive: Instant) -> bool {
        self.left || !self.was_heard_since(alive)
    }

    /// Whether a frame of it has come at `since` or later.
    pub(crate) fn was_heard_since(&self, since: Instant) -> bool {
        self.last_seen().is_some_and(|seen| seen >= since)
    }
}

/// Data of the few members whose tables or addresses differed from this node's.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Notes {
    /// PINGs to it, because its digest differs.
    pub(super) pings: Throttle,
    /// RING_MEMBERS in answer to its PING.
    pub(super) answers: Throttle,
    /// RING_MEMBERS in answer to its RING_MEMBERS.
    pub(super) returns: Throttle,
    /// Since when another table has had another IP address for it.
    pub(super) disputed_since: Option<Instant>,
    /// RING_MEMBERS to it, because its IP address is disputed.
    pub(super) disputes: Throttle,
    /// Offers to it that failed because it is paused.
    pub(super) refusals: Throttle,
    /// Place in the table where the next RING_MEMBERS to it begins.
    pub(super) cursor: usize,
}
