//! What a server is told besides datagrams, and what it has stored.

use std::net::SocketAddr;

/// What the operator asks of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// It is to leave: it serves nothing from then on, hands its tokens over to other servers for
    /// [`LEAVING_MAX`](super::LEAVING_MAX) at most, and says nothing after that. A follower tells its leader that it is
    /// DOWN, so that its tokens are served elsewhere at once. Told a second time it leaves at once.
    ShutDown,
    /// The names of the servers were resolved again: their addresses from now on, by index. One
    /// without an address keeps the one it had.
    Addresses(Box<[Option<SocketAddr>]>),
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
