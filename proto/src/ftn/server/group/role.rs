//! The three roles with what belongs to each.

use std::time::Duration;

use crate::ftn::server::RoleKind;
use crate::ftn::server::group::{Election, Leadership};
use crate::time::Instant;

#[derive(Debug, Clone, Hash)]
pub(crate) enum Role {
    Electing(Election),
    Follower(Following),
    Leader(Box<Leadership>),
}

/// What a follower knows of its leader.
#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Following {
    leader: usize,
    /// When its last STATE came.
    heard: Instant,
    /// When the next HEARTBEAT is due.
    heartbeat: Instant,
}

impl Following {
    /// What follows a STATE that came at `heard`.
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

    /// When the leader's last STATE came.
    pub(crate) const fn heard(&self) -> Instant {
        self.heard
    }

    /// Whether the leader was heard within this time.
    pub(crate) fn has_heard(&self, now: Instant, within: Duration) -> bool {
        now.since(self.heard) < within
    }

    /// Whether HEARTBEAT is due. If so, it is due again after `period`.
    pub(crate) fn take_heartbeat(&mut self, now: Instant, period: Duration) -> bool {
        let is_due = self.heartbeat <= now;
        if is_due {
            self.heartbeat = now + period;
        }
        is_due
    }

    /// When HEARTBEAT is due, or the leader is given up.
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
