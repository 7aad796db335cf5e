//! Connections, as state machines and their driver name them.
//!
//! The driver closes no connection by itself: each timeout of a connection belongs to the state machine. The driver
//! buffers received bytes that the machine has not consumed, up to a limit. Beyond the limit the peer has to wait.

/// One connection. Later connections reuse its slot under other generations, so a late event of a closed connection
/// has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// Index among the connections that can be open at the same time.
    pub slot: u16,
    /// Number of the connection among those that used the slot.
    pub generation: u32,
}

/// Event of a connection whose peer has the type `P`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEvent<'a, P> {
    /// A peer has connected.
    Accepted(P),
    /// The connection that the machine [opened](StreamOp::Open) is established.
    Connected,
    /// All received bytes that the machine has not consumed. They are empty only at the end of the stream.
    Received {
        /// Bytes in the order in which the peer sent them.
        bytes: &'a [u8],
        /// Whether the peer has closed its side after these bytes.
        end: bool,
    },
    /// The connection is closed, and its id is no longer valid.
    Closed(CloseReason),
}

/// Reason why a connection that the machine did not close is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// No process listens at the peer's address.
    Refused,
    /// The peer has reset the connection.
    Reset,
    /// The kernel has given up the connection.
    TimedOut,
    /// Another error: no route, no memory or no descriptor.
    Failed,
}

/// Operation on a connection. It has no effect on a closed connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamOp<P> {
    /// Connects to a peer under the `vacant` id of [`poll_stream`](crate::Machine::poll_stream).
    Open(P),
    /// Calls [`poll_write`](crate::Machine::poll_write) for bytes to write until there are none.
    Write(StreamId),
    /// Passes all received bytes that the machine has not consumed again.
    Read(StreamId),
    /// Closes the machine's side after all bytes are written: the peer reads the end of the stream.
    Finish(StreamId),
    /// Closes the connection after all bytes are written. No event follows.
    Close(StreamId),
    /// Resets the connection: the peer reads no end of the stream. No event follows.
    Abort(StreamId),
}
