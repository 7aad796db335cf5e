//! A server's role and state (`docs/token-service/protocol/elections.md` E1).

use ring_codec::ftn::ServerState;

/// Role of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoleKind {
    /// The server looks for a leader.
    Electing,
    /// The server follows a leader.
    Follower,
    /// The server is the leader.
    Leader,
}

impl RoleKind {
    /// Returns the role's name, as the status shows it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Electing => "electing",
            Self::Follower => "follower",
            Self::Leader => "leader",
        }
    }
}

/// Summary of a server's role and state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerSummary {
    /// Role of the server.
    pub role: RoleKind,
    /// Index of the leader; `None` during an election.
    pub leader: Option<usize>,
    /// State that the server announces.
    pub state: ServerState,
}
