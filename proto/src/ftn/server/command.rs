//! Two inputs of a server other than datagrams: commands and the state of the network. This module also defines the
//! value that a server stores.

use std::net::SocketAddr;

/// Command of the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Makes the server leave. After this command, the server serves no token. The server hands its tokens over to
    /// other servers, for at most [`LEAVING_MAX`](super::LEAVING_MAX). Then it sends nothing. A follower announces to
    /// its leader that it is DOWN. Then other servers serve its tokens at once. A second command makes the server leave
    /// at once.
    ShutDown,
    /// Sets the address of each server, by index, after the names were resolved again. `None` keeps the earlier
    /// address.
    Addresses(Box<[Option<SocketAddr>]>),
}

/// State of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkState {
    /// The network carries datagrams. When the driver reports this state for the first time, the server starts.
    Up,
    /// The network carries nothing.
    Down,
}

/// Value that must survive a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Durable {
    /// Highest configuration number that the server knows of, or 0. The server stores the number before it uses the
    /// number.
    pub configuration: u64,
}
