//! Inputs of a server in addition to datagrams, and the value that it stores.

use std::net::SocketAddr;

/// Command of the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Makes the server leave. It serves nothing from then on, hands its tokens over for at most
    /// [`LEAVING_MAX`](super::LEAVING_MAX), and then sends nothing. A follower tells its leader that it is DOWN, so
    /// that other servers serve its tokens at once. A second command makes it leave at once.
    ShutDown,
    /// Sets the servers' addresses after their names were resolved again, by index. `None` keeps the earlier address.
    Addresses(Box<[Option<SocketAddr>]>),
}

/// State of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkState {
    /// The network carries datagrams. The server starts at the first report of this state.
    Up,
    /// The network carries nothing.
    Down,
}

/// Value that must survive a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Durable {
    /// Highest configuration number seen, or 0 if there was none. It is stored before it is used.
    pub configuration: u64,
}
