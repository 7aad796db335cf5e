//! What a client is told of its socket.

/// The datagram socket that the client has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Net {
    /// None, or one that can send nothing.
    Down,
    /// One that is bound to this port.
    Up {
        /// The port, as servers see it in the source address.
        port: u16,
    },
}
