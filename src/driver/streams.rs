//! Connections, as the pump drives them.

use ring_proto::{Closed, StreamId};

/// What has happened to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened<P> {
    /// A peer has connected.
    Accepted(P),
    /// It has been connected to.
    Connected,
    /// There is something [received](Streams::received).
    Received,
    /// It takes bytes again.
    Writable,
    /// It is gone.
    Closed(Closed),
}

/// A link's connections. An id of one that is closed is no error: nothing happens.
pub trait Streams<P> {
    /// The id of the next connection that is opened; `None`: as many are open as can be.
    fn vacant(&self) -> Option<StreamId>;

    /// Connects to a peer, under the id that was [`vacant`](Self::vacant). Whether that succeeds happens
    /// later.
    fn open(&mut self, to: P);

    /// Takes bytes from `fill`, which says how many it has written into the room that it is given, until
    /// there are none or the connection takes no more. It is writable once it does again.
    fn write(&mut self, id: StreamId, fill: &mut dyn FnMut(&mut [u8]) -> usize);

    /// Closes the own side once all is written.
    fn finish(&mut self, id: StreamId);

    /// Closes it once all is written.
    fn close(&mut self, id: StreamId);

    /// Resets it.
    fn abort(&mut self, id: StreamId);

    /// The next thing that has happened, without waiting.
    fn next(&mut self) -> Option<(StreamId, Happened<P>)>;

    /// Whether something more may happen without the network's doing.
    fn is_due(&self) -> bool;

    /// All that was received and not consumed, and whether the peer has closed its side behind it.
    fn received(&self, id: StreamId) -> Option<(&[u8], bool)>;

    /// Has [`Happened::Received`] happen again.
    fn receive_again(&mut self, id: StreamId);

    /// Forgets the first `count` bytes received.
    fn consume(&mut self, id: StreamId, count: usize);
}
