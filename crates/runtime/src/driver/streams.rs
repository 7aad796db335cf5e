//! What the pump needs of connections.

use ring_proto::{Closed, StreamId};

/// Maximum events of connections handled in one turn.
pub(super) const EVENTS: usize = 64;
/// The same if the machine's deadline has passed.
pub(super) const EVENTS_BEFORE_TIMEOUT: usize = 4096;

/// An event of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened<P> {
    /// A peer has connected.
    Accepted(P),
    /// The connection to a peer is established.
    Connected,
    /// There are bytes, or an end, to be [received](Streams::received).
    Received,
    /// The connection takes bytes again.
    Writable,
    /// It is gone.
    Closed(Closed),
}

/// A link's connections. The id of a closed one is no error: the call does nothing.
pub trait Streams<P> {
    /// Returns the id that the next opened connection gets; `None`: all slots are taken.
    fn vacant(&self) -> Option<StreamId>;

    /// Connects to a peer, under the id that was [`vacant`](Self::vacant). A later event tells whether that
    /// succeeded.
    fn open(&mut self, to: P);

    /// Writes bytes from `fill`, which returns how many it has put into the buffer that it is given, until there
    /// are none or the connection takes no more. [`Happened::Writable`] follows once it does again.
    fn write(&mut self, id: StreamId, fill: &mut dyn FnMut(&mut [u8]) -> usize);

    /// Closes the own side once all is written.
    fn finish(&mut self, id: StreamId);

    /// Closes it once all is written.
    fn close(&mut self, id: StreamId);

    /// Resets it.
    fn abort(&mut self, id: StreamId);

    /// Returns the next event, without waiting.
    fn next(&mut self) -> Option<(StreamId, Happened<P>)>;

    /// Whether there may be more events without the network's doing.
    fn is_due(&self) -> bool;

    /// Returns all bytes that were received and not consumed, and whether the peer has closed its side after them.
    fn received(&self, id: StreamId) -> Option<(&[u8], bool)>;

    /// Makes [`Happened::Received`] happen again.
    fn receive_again(&mut self, id: StreamId);

    /// Drops the first `count` bytes received.
    fn consume(&mut self, id: StreamId, count: usize);
}
