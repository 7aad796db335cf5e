//! What happens to servers and clients, as any bytes can be read.

use arbitrary::Arbitrary;

use super::said::What;

/// What happens to servers and clients alike.
#[derive(Debug, Arbitrary)]
pub(super) enum Common {
    /// A message of a valid form, from a server or a client by its number, for the machine or, by its number, another.
    Hear {
        from: Peer,
        to: Option<i8>,
        what: What,
        /// Milliseconds that it has waited in the queue.
        age: u8,
    },
    /// Any bytes.
    Garbage(Peer, Vec<u8>),
    /// The machine's time comes, and it is woken so many milliseconds late.
    TimeOut(u8),
    /// So many milliseconds pass, with all time-outs at their times.
    Pass(u16),
    /// The same without any: the process stands still.
    StandStill(u16),
    /// The caller's clock goes back by so many milliseconds.
    ClockBack(u8),
    /// The wall clock is set by so many hours.
    WallClock(i8),
    /// The socket refuses everything, or no longer.
    Refuse(bool),
}

/// Who a message is from.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub(super) enum Peer {
    Server(u8),
    /// In its session, or with another's id.
    Client(u8, Option<u8>),
}
