//! The client's datagram socket.

/// State of the client's datagram socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SocketState {
    /// There is no socket, or the socket cannot send.
    Down,
    /// The socket is bound to a port.
    Up {
        /// Port as servers see it in the source address.
        port: u16,
    },
}
