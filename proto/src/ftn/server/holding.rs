//! Events that tell people who holds a token. No rule depends on them.

use std::net::SocketAddr;

/// A session's hold of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The token's name.
    pub name: Box<[u8]>,
    /// The session.
    pub session: i32,
    /// The address of its client.
    pub address: SocketAddr,
    /// The name that the program gave itself; `None`: it gave none to this server.
    pub program: Option<Box<str>>,
    /// The fencing number of the grant.
    pub number: u128,
}
