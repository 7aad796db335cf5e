//! The names, events and operations of connections. State machines and their driver share these types.
//!
//! The driver closes no connection by itself, because the state machine has all timeouts of connections. Up to a limit,
//! the driver buffers received bytes that the machine has not consumed. Beyond the limit, the peer must wait.

/// The name of a connection. Later connections reuse the slot with a new generation, so a late event of a closed
/// connection has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// The place of the connection. Each connection that is open has its own slot.
    pub slot: u16,
    /// The number of earlier connections in the same slot.
    pub generation: u32,
}

/// An event of a connection whose peer has the type `P`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEvent<'a, P> {
    /// A peer has connected.
    Accepted(P),
    /// The connection that the machine [opened](StreamOp::Open) is established.
    Connected,
    /// Bytes have arrived. The event contains all received bytes that the machine has not consumed. If the event
    /// contains no bytes, it reports only the end of the stream.
    Received {
        /// The bytes in the order in which the peer sent them.
        bytes: &'a [u8],
        /// Whether the peer closed its side of the connection after these bytes.
        end: bool,
    },
    /// The connection is closed, and its id is no longer valid.
    Closed(CloseReason),
}

/// The reason why a connection was closed by its peer or the kernel, and not by the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// No process listens at the peer's address.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The kernel closed the connection, because the peer did not answer in time.
    TimedOut,
    /// A different error, for example no route, no memory or no descriptor.
    Failed,
}

/// An operation on a connection. If the connection is already closed, the operation has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamOp<P> {
    /// Connects to a peer under the `vacant` id of [`poll_stream`](crate::Machine::poll_stream).
    Open(P),
    /// Writes the bytes that [`poll_write`](crate::Machine::poll_write) returns, until it returns no bytes.
    Write(StreamId),
    /// Calls the machine again with all received bytes that it has not consumed.
    Read(StreamId),
    /// Closes the machine's side after all bytes are written. After the close, the peer reads the end of the stream.
    Finish(StreamId),
    /// Closes the connection after all bytes are written. No event follows.
    Close(StreamId),
    /// Resets the connection. The peer gets an error instead of the end of the stream. No event follows.
    Abort(StreamId),
}
