//! The three roles with their data.

use std::time::Duration;

use crate::ftn::server::RoleKind;
use crate::ftn::server::group::{Election, Leadership};
use crate::time::Instant;

#[derive(Debug, Clone, Hash)]
pub(crate) enum Role {
    Electing(Election),
    Follower(FollowerState),
    // This variant is boxed, because a leader has far more data than the other roles.
    Leader(Box<Leadership>),
}

/// Data of a follower.
#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct FollowerState {
    leader: usize,
    /// Arrival time of the leader's last STATE.
    heard: Instant,
    /// Due time of the next HEARTBEAT.
    heartbeat: Instant,
}

impl FollowerState {
    /// Returns a follower of `leader`. The leader's STATE arrived at `heard`.
    pub(crate) const fn new(leader: usize, heard: Instant, heartbeat: Instant) -> Self {
        Self {
            leader,
            heard,
            heartbeat,
        }
    }

    pub(crate) const fn leader(&self) -> usize {
        self.leader
    }

    /// Returns the arrival time of the leader's last STATE.
    pub(crate) const fn last_heard(&self) -> Instant {
        self.heard
    }

    /// Whether a STATE of the leader arrived less than `within` ago.
    pub(crate) fn has_heard(&self, now: Instant, within: Duration) -> bool {
        now.since(self.heard) < within
    }

    /// If HEARTBEAT is due, returns `true`, and makes the next HEARTBEAT due after `period`.
    pub(crate) fn take_heartbeat(&mut self, now: Instant, period: Duration) -> bool {
        let is_due = self.heartbeat <= now;
        if is_due {
            self.heartbeat = now + period;
        }
        is_due
    }

    /// Returns the due time of HEARTBEAT, or the time at which the follower gives up its leader.
    pub(crate) fn due(&self, timeout: Duration) -> Instant {
        self.heartbeat.min(self.heard + timeout)
    }
}

impl Role {
    pub(crate) const fn kind(&self) -> RoleKind {
        match self {
            Self::Electing(_) => RoleKind::Electing,
            Self::Follower(_) => RoleKind::Follower,
            Self::Leader(_) => RoleKind::Leader,
        }
    }

    pub(crate) fn leader_mut(&mut self) -> Option<&mut Leadership> {
        match self {
            Self::Leader(leadership) => Some(leadership),
            _ => None,
        }
    }

    pub(crate) fn as_leader(&self) -> Option<&Leadership> {
        match self {
            Self::Leader(leadership) => Some(leadership),
            _ => None,
        }
    }
}
