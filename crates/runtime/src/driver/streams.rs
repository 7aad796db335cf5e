//! The connections of a link, as the driver uses them.

use ring_proto::{CloseReason, StreamId};

/// Maximum number of events of connections that one loop iteration handles.
pub(super) const EVENTS_PER_TURN: usize = 64;
/// Maximum number of events of connections if the machine's deadline has passed.
pub(super) const EVENTS_BEFORE_TIMEOUT_MAX: usize = 4096;

/// An event of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoEvent<P> {
    /// A peer has connected.
    Accepted(P),
    /// A connection that the machine opened is established.
    Connected,
    /// The machine can [receive](Streams::received) bytes or the end of the stream.
    Received,
    /// The connection can take bytes again.
    Writable,
    /// The connection closed or failed.
    Closed(CloseReason),
}

/// A link's connections. A call with the id of a closed connection does nothing.
pub trait Streams<P> {
    /// Returns the id that the next opened connection gets; `None` if all slots are used.
    fn next_id(&self) -> Option<StreamId>;

    /// Connects to a peer. The connection gets the id that [`next_id`](Self::next_id) returned before this call. A
    /// later event reports whether the attempt succeeded.
    fn open(&mut self, to: P);

    /// Writes bytes that `fill` provides. `fill` puts bytes into its buffer, and returns their number. Stops when
    /// `fill` returns 0, or when the connection takes no more bytes. When the connection can take bytes again, an event
    /// [`IoEvent::Writable`] follows.
    fn write(&mut self, id: StreamId, fill: &mut dyn FnMut(&mut [u8]) -> usize);

    /// Closes this node's sending side after all bytes are written.
    fn finish(&mut self, id: StreamId);

    /// Closes the connection after all bytes are written.
    fn close(&mut self, id: StreamId);

    /// Resets the connection.
    fn abort(&mut self, id: StreamId);

    /// Returns the next event, without waiting.
    fn next_event(&mut self) -> Option<(StreamId, IoEvent<P>)>;

    /// Whether the connections may have more events, even without a new change of the network.
    fn is_due(&self) -> bool;

    /// Returns all received bytes that the machine has not consumed. Also returns whether the peer closed its side
    /// after these bytes.
    fn received(&self, id: StreamId) -> Option<(&[u8], bool)>;

    /// Causes a further [`IoEvent::Received`] event for the same bytes.
    fn receive_again(&mut self, id: StreamId);

    /// Drops the first `count` of the received bytes.
    fn consume(&mut self, id: StreamId, count: usize);
}
