//! This node's data about each member. The node never sends this data.
//!
//! A simulated ring of 10,000 nodes has 10,000 tables of 10,000 members. So [`Peer`] is small, and [`Notes`] exist only
//! for the few members that need them.

use crate::penalty::Penalty;
use crate::throttle::Throttle;
use crate::time::Instant;

/// Data of every member, in 24 bytes.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each property is independent of the others"
)]
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Peer {
    /// Time of the member's last frame, in nanoseconds. If no frame of the member arrived, this is the time at which a
    /// table first named the member.
    pub(super) seen: u64,
    /// Whether this node ever received a frame of the member.
    pub(super) heard: bool,
    pub(super) penalty: Penalty,
    /// Whether the member sent WANT_TOKEN and has not held the token since this frame.
    pub(super) wants: bool,
    /// Whether this node must still send a PING to this member, because the member is new.
    pub(super) owed_ping: bool,
    /// Whether the member itself announced that it has no IP address.
    pub(super) has_no_ip: bool,
    /// Whether the member already wanted the token when this node's last tenure ended, and still wants it.
    pub(super) overdue: bool,
    /// Whether the member announced that it is paused.
    pub(super) paused: bool,
    /// Whether the member failed to take the token in this tenure. Any frame of the member except WANT_TOKEN clears
    /// this flag.
    pub(super) failed: bool,
    /// Whether the member announced that it is deaf.
    pub(super) deaf: bool,
    /// Whether LEAVING is the last frame of the member.
    pub(super) left: bool,
    /// Whether the member has [`Notes`].
    pub(super) has_notes: bool,
    /// Whether this node reported the member as silent.
    pub(super) told_silent: bool,
    /// Whether the member announced its version.
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

    pub(crate) const fn is_overdue(&self) -> bool {
        self.overdue
    }

    /// Returns the number of turns in which this node will skip the member.
    pub(crate) const fn penalty(&self) -> u32 {
        self.penalty.skips()
    }

    /// Returns the time of the member's last frame; `None` if only tables named the member.
    pub(crate) fn last_seen(&self) -> Option<Instant> {
        self.heard.then(|| self.silent_since())
    }

    /// Returns the time at which this node last heard the member, or first read its name in a table.
    pub(crate) fn silent_since(&self) -> Instant {
        Instant::from_nanos(self.seen)
    }

    /// Whether the member can own the token: it has announced neither a pause nor deafness.
    pub(super) const fn may_own(&self) -> bool {
        !self.paused && !self.deaf
    }

    /// Whether this node may now offer the token to the member. One condition is that this node has heard the member at
    /// `since` or later.
    pub(crate) fn is_eligible(&self, since: Instant) -> bool {
        self.may_own() && self.penalty.skips() == 0 && self.was_heard_since(since)
    }

    /// Whether the member is gone: it has left, or this node has not heard it since `alive`.
    pub(crate) fn is_gone(&self, alive: Instant) -> bool {
        self.left || !self.was_heard_since(alive)
    }

    /// Whether a frame of the member arrived at `since` or later.
    pub(crate) fn was_heard_since(&self, since: Instant) -> bool {
        self.last_seen().is_some_and(|seen| seen >= since)
    }
}

/// Data about a member whose table or address differed from this node's values. Only few members have such data.
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Notes {
    /// Limits how often this node sends PING to the member because their tables differ.
    pub(super) pings: Throttle,
    /// Limits how often this node answers a PING of the member with RING_MEMBERS.
    pub(super) answers: Throttle,
    /// Limits how often this node answers RING_MEMBERS of the member with RING_MEMBERS.
    pub(super) returns: Throttle,
    /// The time at which the table of another member began to differ in this member's IP address.
    pub(super) disputed_since: Option<Instant>,
    /// Limits how often this node sends RING_MEMBERS to the member because its IP address is disputed.
    pub(super) disputes: Throttle,
    /// Limits how often an offer to the member may fail because the member is paused.
    pub(super) refusals: Throttle,
    /// The next RING_MEMBERS to the member begins at this place of the table.
    pub(super) cursor: usize,
}
