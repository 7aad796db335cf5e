//! Connections, as machines and their driver speak of them.
//!
//! Every time-out of a connection is the machine's: the driver closes none by itself. It buffers what was
//! received and not consumed, up to a bound of its own; past that the peer has to wait.

/// One connection. Its slot serves others after it, under other generations: what comes late for one that
/// is closed reaches nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// Which of the connections that can be open at a time.
    pub slot: u16,
    /// Which of those that had the slot.
    pub generation: u32,
}

/// What has happened to a connection, with peers known by `P`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEvent<'a, P> {
    /// A peer has connected.
    Accepted(P),
    /// A connection that the machine has [opened](StreamOp::Open) stands.
    Connected,
    /// All that has come and was not consumed: never nothing, but for the end.
    Received {
        /// In the order in which the peer has sent them.
        bytes: &'a [u8],
        /// The peer has closed its side behind them.
        end: bool,
    },
    /// There is no connection any longer: the id means nothing from now on.
    Closed(Closed),
}

/// Why a connection is gone that the machine has not closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// Nobody listens there.
    Refused,
    /// The peer has reset it.
    Reset,
    /// The kernel has given it up.
    TimedOut,
    /// Something else: no way there, no memory, no descriptor.
    Failed,
}

/// What a machine wants done with a connection. One that is closed already is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamOp<P> {
    /// Connect to a peer, under the id that was offered with the question.
    Open(P),
    /// Ask for bytes to write, with [`poll_write`](crate::Machine::poll_write), until there are none.
    Write(StreamId),
    /// Tell again of what was received and not consumed.
    Read(StreamId),
    /// Close the own side once all is written: the peer reads an end.
    Finish(StreamId),
    /// Be done with it: the peer reads what was written, and the end. No event follows.
    Close(StreamId),
    /// Reset it: the peer reads no end, whatever it has got. No event follows.
    Abort(StreamId),
}
