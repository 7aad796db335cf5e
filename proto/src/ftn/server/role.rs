//! The three roles with what belongs to each.

use super::RoleKind;
use super::election::Election;
use super::leader::Leadership;
use crate::time::Instant;

#[derive(Debug, Clone, Hash)]
pub(super) enum Role {
    Electing(Election),
    Follower(Following),
    Leader(Box<Leadership>),
}

/// What a follower knows of its leader.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct Following {
    pub(super) leader: usize,
    /// When its last STATE came.
    pub(super) heard: Instant,
    /// When the next HEARTBEAT is due.
    pub(super) heartbeat: Instant,
}

impl Role {
    pub(super) const fn kind(&self) -> RoleKind {
        match self {
            Self::Electing(_) => RoleKind::Electing,
            Self::Follower(_) => RoleKind::Follower,
            Self::Leader(_) => RoleKind::Leader,
        }
    }

    pub(super) fn leader_mut(&mut self) -> Option<&mut Leadership> {
        match self {
            Self::Leader(leadership) => Some(leadership),
            _ => None,
        }
    }

    pub(super) fn as_leader(&self) -> Option<&Leadership> {
        match self {
            Self::Leader(leadership) => Some(leadership),
            _ => None,
        }
    }
}
