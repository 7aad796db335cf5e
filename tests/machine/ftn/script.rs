//! Scripts for servers and clients that any bytes can be read as.

use arbitrary::Arbitrary;

use super::message::ScriptedMessage;

/// A step that servers and clients share.
#[derive(Debug, Arbitrary)]
pub(super) enum SharedStep {
    /// Receives a message of valid form from a server or client. `to` is the receiver's id, or the real one.
    Hear {
        from: Peer,
        to: Option<i8>,
        what: ScriptedMessage,
        /// The time for which it has waited in the queue, in milliseconds.
        age: u8,
    },
    /// Receives any bytes.
    Garbage(Peer, Vec<u8>),
    /// Wakes the state machine this many milliseconds after its deadline.
    TimeOut(u8),
    /// Lets this many milliseconds pass, with all timeouts at their times.
    Pass(u16),
    /// Stalls the process for this many milliseconds.
    Stall(u16),
    /// Sets the monotonic clock back by this many milliseconds.
    ClockBack(u8),
    /// Sets the wall clock by this many hours.
    WallClock(i8),
    /// Sets whether the socket refuses all datagrams.
    Refuse(bool),
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub(super) enum Peer {
    Server(u8),
    /// A client with its session, or with another's id.
    Client(u8, Option<u8>),
}
