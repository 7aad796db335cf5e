//! Scripts for servers and clients. Any bytes are a valid script.

use arbitrary::Arbitrary;

use super::message::ScriptedMessage;

/// A step that servers and clients share.
#[derive(Debug, Arbitrary)]
pub(super) enum SharedStep {
    /// Receives a message of valid form from a server or client. `to` is the id of the receiver in the message. The id
    /// `None` stands for the receiver's real id.
    Hear {
        from: Peer,
        to: Option<i8>,
        what: ScriptedMessage,
        /// The age of the message: its time in the queue, in milliseconds.
        age: u8,
    },
    /// Receives arbitrary bytes.
    Garbage(Peer, Vec<u8>),
    /// Wakes the state machine this many milliseconds after its deadline.
    TimeOut(u8),
    /// Lets this many milliseconds pass. All timeouts fire in time.
    Pass(u16),
    /// Stalls the process for this many milliseconds.
    Stall(u16),
    /// Sets the monotonic clock back by this many milliseconds.
    ClockBack(u8),
    /// Moves the wall clock by this many hours.
    WallClock(i8),
    /// Sets whether the socket refuses all datagrams.
    Refuse(bool),
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub(super) enum Peer {
    Server(u8),
    /// A client that sends the id of its own session, or the id of another client.
    Client(u8, Option<u8>),
}
