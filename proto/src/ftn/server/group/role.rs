//! The three roles with what belongs to each.

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
    pub(crate) leader: usize,
    /// When its last STATE came.
    pub(crate) heard: Instant,
    /// When the next HEARTBEAT is due.
    pub(crate) heartbeat: Instant,
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
