//! What a node remembers of each member and tells nobody.
//!
//! A table of 10,000 members is held by 10,000 nodes in one simulated ring, so what every member
//! has is kept small, and what few have is kept apart.

use crate::lab2::diagnostics::shared::Moves;
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
    pub(crate) seen: u64,
    /// A frame of it has come.
    pub(crate) heard: bool,
    pub(crate) penalty: Penalty,
    /// It has said WANT_TOKEN and not had the token since.
    pub(crate) wants: bool,
    /// It is new and is still to be answered with PING.
    pub(crate) owed_ping: bool,
    /// It has said itself that it has no ip.
    pub(crate) has_none: bool,
    /// It has wanted the token since before the last tenure of this node was over.
    pub(crate) overdue: bool,
    /// It has said that it owns nothing for now.
    pub(crate) paused: bool,
    /// It has not taken the token in this tenure, and has said no more than WANT_TOKEN since.
    pub(crate) failed: bool,
    /// It has said that it hears nobody.
    pub(crate) deaf: bool,
    /// It has said LEAVING, and nothing since.
    pub(crate) left: bool,
    /// There is more to remember of it: [`Notes`].
    pub(crate) noted: bool,
    /// People were told that it is silent.
    pub(crate) told_silent: bool,
    /// It has told its version.
    pub(crate) told_version: bool,
}

impl Peer {
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
pub(crate) struct Notes {
    /// PINGs to it because its digest differs.
    pub(crate) pinged: Throttle,
    /// Answers to its PING with RING_MEMBERS.
    pub(crate) answered: Throttle,
    /// Returns of its RING_MEMBERS with the own table.
    pub(crate) returned: Throttle,
    /// When another table was first found to hold another ip for it than this one does.
    pub(crate) disputed_since: Option<Instant>,
    /// Showing it the table because its ip is disputed.
    pub(crate) disputed: Throttle,
    /// Offers to it that failed because it is paused.
    pub(crate) refused: Throttle,
    /// How its ip has changed lately.
    pub(crate) moves: Moves,
    /// Where in the table the next RING_MEMBERS to it begins.
    pub(crate) cursor: usize,
}
