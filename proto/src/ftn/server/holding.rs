//! A session's hold of a token, for events that people read. The rules of the protocol do not depend on this
//! information.

use std::net::SocketAddr;

/// A session's hold of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenHold {
    /// Name of the token.
    pub name: Box<[u8]>,
    /// Id of the session.
    pub session: i32,
    /// Address of the session's client.
    pub address: SocketAddr,
    /// Introduction of the session's program, if this server has it.
    pub program: Option<Box<str>>,
    /// Fencing number of the grant.
    pub number: u128,
}
