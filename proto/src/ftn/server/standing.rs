//! What a server shows of itself (`docs/ftn.md`, section 9).

use ring_codec::ftn::ServerState;

/// What a server is among the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoleKind {
    /// It looks for a leader.
    Electing,
    /// It follows one.
    Follower,
    /// It is the leader.
    Leader,
}

impl RoleKind {
    /// The name in `role`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Electing => "electing",
            Self::Follower => "follower",
            Self::Leader => "leader",
        }
    }
}

/// What a server is, in a few words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Electing, follower or leader.
    pub role: RoleKind,
    /// Who leads; `None` while it is electing.
    pub leader: Option<usize>,
    /// The state that the server says to be in.
    pub state: ServerState,
}
