//! What a server is told besides datagrams, and what it has stored.

/// What the operator asks of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// It is to leave: it serves and says nothing from then on. A follower tells its leader first that it is
    /// DOWN, so that its tokens are served elsewhere at once.
    ShutDown,
}

/// What the network is like just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Net {
    /// Datagrams can be sent and received. The first time it is told so, the server starts.
    Up,
    /// Nothing can be sent or received.
    Down,
}

/// What must survive a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Durable {
    /// The highest configuration number seen, 0 if there was none: stored before it is used.
    pub configuration: u64,
}
