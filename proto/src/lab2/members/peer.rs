//! What a node remembers of each member and tells nobody.
//!
//! A table of 10,000 members is held by 10,000 nodes in one simulated ring, so what every member
//! has is kept small, and what few have is kept apart.

use crate::penalty::Penalty;
use crate::throttle::Throttle;
use crate::time::Instant;

/// What is remembered of every member: 24 bytes.
#[expect(
    clippy::struct_excessive_bools,
    reason = "properties that know nothing of each other"
)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Peer {
    /// When its last frame came, in nanoseconds; if none has, when a table first told of it.
    pub(super) seen: u64,
    /// A frame of it has come.
    pub(super) heard: bool,
    pub(super) penalty: Penalty,
    /// It has said WANT_TOKEN and not had the token since.
    pub(super) wants: bool,
    /// It is new and is still to be answered with PING.
    pub(super) owed_ping: bool,
    /// It has said itself that it has no ip.
    pub(super) has_none: bool,
    /// It has wanted the token since before the last tenure of this node was over.
    pub(super) overdue: bool,
    /// It has said that it owns nothing for now.
    pub(super) paused: bool,
    /// It has not taken the token in this tenure, and has said no more than WANT_TOKEN since.
    pub(super) failed: bool,
    /// It has said that it hears nobody.
    pub(super) deaf: bool,
    /// It has said LEAVING, and nothing since.
    pub(super) left: bool,
    /// There is more to remember of it: [`Notes`].
    pub(super) noted: bool,
    /// People were told that it is silent.
    pub(super) told_silent: bool,
    /// It has told its version.
    pub(super) told_version: bool,
}

impl Peer {
    /// Whether a frame of it has come.
    pub(crate) const fn was_heard(&self) -> bool {
        self.heard
    }

    /// Whether it has said LEAVING, and nothing since.
    pub(crate) const fn has_left(&self) -> bool {
        self.left
    }

    /// Whether it has said that it owns nothing for now.
    pub(crate) const fn is_paused(&self) -> bool {
        self.paused
    }

    /// Whether people were told that it is silent.
    pub(crate) const fn is_told_silent(&self) -> bool {
        self.told_silent
    }

    /// For how many more turns it is passed over.
    pub(crate) const fn penalty(&self) -> u32 {
        self.penalty.turns()
    }

    /// When its last frame came; `None`: it is only heard of.
    pub(crate) fn last_seen(&self) -> Option<Instant> {
        self.heard.then(|| self.silent_since())
    }

    /// Since when nothing of it was heard.
    pub(crate) fn silent_since(&self) -> Instant {
        Instant::from_nanos(self.seen)
    }

    /// Whether the token may be offered to it now, if only those are that were heard at `since` or
    /// later.
    pub(crate) fn is_eligible(&self, since: Instant) -> bool {
        !self.paused && !self.deaf && self.penalty.turns() == 0 && self.was_heard_since(since)
    }

    /// Whether it has left, or has said nothing at `alive` or later.
    pub(crate) fn is_gone(&self, alive: Instant) -> bool {
        self.left || !self.was_heard_since(alive)
    }

    /// Whether a frame of it has come at `since` or later.
    pub(crate) fn was_heard_since(&self, since: Instant) -> bool {
        self.last_seen().is_some_and(|seen| seen >= since)
    }
}

/// What is remembered of the few members whose tables or addresses differed from the own ones.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Notes {
    /// PINGs to it because its digest differs.
    pub(super) pinged: Throttle,
    /// Answers to its PING with RING_MEMBERS.
    pub(super) answered: Throttle,
    /// Returns of its RING_MEMBERS with the own table.
    pub(super) returned: Throttle,
    /// When another table was first found to hold another ip for it than this one does.
    pub(super) disputed_since: Option<Instant>,
    /// Showing it the table because its ip is disputed.
    pub(super) disputed: Throttle,
    /// Offers to it that failed because it is paused.
    pub(super) refused: Throttle,
    /// Where in the table the next RING_MEMBERS to it begins.
    pub(super) cursor: usize,
}
