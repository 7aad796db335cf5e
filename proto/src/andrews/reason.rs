//! The reasons for which frames are dropped and connections closed (`docs/board.md`, sections 2 and 11).

use crate::counter_macros::reasons;

reasons! {
    /// The reason for which a frame was dropped or a connection was closed. A dropped frame gets no answer.
    pub enum Reason;

    /// The frame does not decode, or its stream ends within it.
    Malformed "malformed" "its format is illegal",
    /// The frame's srcId is not in the list, has another address there, or is the receiver. On a connection also a
    /// srcId that differs from the hello's.
    WrongSource "wrong_source" "its sender is not the node that its srcId names",
    /// The frame's type does not travel on this transport.
    WrongTransport "wrong_transport" "this transport does not allow its type",
    /// The token is no newer than one that this node has held.
    Duplicate "duplicate" "this node has already held this token or a newer one",
    /// The token's term is newer than the database's, or cannot be looked up.
    FromFuture "from_future" "the token's term is not yet in the database",
    /// The first frame of a connection is no SUCCESSOR that names this node.
    NotHello "not_hello" "the connection does not start with a hello for this node",
    /// A hello took longer than connect-timeout, or a frame took longer than liveness.
    Late "late" "the rest of the frame did not arrive in time",
    /// More than 16 connections had no hello, so the oldest was closed.
    Crowded "crowded" "there are too many connections without a hello",
    /// The predecessor does not read its acknowledgements.
    Unread "unread" "the peer does not read this node's frames",
    /// A message of an election came to a node that is no member.
    NotMember "not_member" "this node is not a member, so it ignores elections",
    /// An election names a node that is not in the list.
    UnknownNode "unknown_node" "it names a node that is not in the list",
    /// A RING_BASED ELECTION has no ids, or more than the list.
    Candidates "candidates" "it has no candidates or too many",
    /// A result or a candidate was sent on less than T1 ago.
    Repeated "repeated" "this node forwarded the same content less than T1 ago",
    /// A CHANG_ROBERTS candidate is smaller than this node, which has already taken part.
    Outbid "outbid" "this node has already proposed a larger candidate",
    /// A BULLY ELECTION came from a larger node.
    Larger "larger" "its sender has the larger id, so it needs no reply",
    /// This node did not wait for the OK, or the OK came from a smaller node.
    Unasked "unasked" "this node is not waiting for it",
    /// A BULLY COORDINATOR names another node than its sender.
    NotItself "not_itself" "its sender is not the coordinator that it announces",
}
