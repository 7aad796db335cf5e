//! The reasons why frames are dropped and connections are closed (`docs/board/protocol/members.md`, rules M;
//! `docs/board/status.md`).

use crate::counter_macros::reasons;

reasons! {
    /// The reason why a frame was dropped or a connection was closed. A dropped frame gets no answer.
    pub enum Reason;

    /// The frame does not decode, or the stream ends within the frame.
    Malformed "malformed" "its format is illegal",
    /// The frame's srcId is not in the list, has a different address in the list, or is the receiver's own id. On a
    /// connection, the reason also applies if the srcId differs from the hello's srcId.
    WrongSource "wrong_source" "its sender is not the node that its srcId names",
    /// The frame's type does not travel on this transport.
    WrongTransport "wrong_transport" "this transport does not allow its type",
    /// This node has already held this token or a newer token.
    Duplicate "duplicate" "this node has already held this token or a newer one",
    /// The token's term is larger than the term in the coordinator's row, or this node cannot read the row.
    FromFuture "from_future" "the token's term is not yet in the database",
    /// The first frame of a connection is not a SUCCESSOR that names this node.
    NotHello "not_hello" "the connection does not start with a hello for this node",
    /// A hello took longer than connect-timeout, or a frame took longer than liveness.
    Late "late" "the rest of the frame did not arrive in time",
    /// More than 16 connections had sent no hello, so the node closed the oldest of them.
    Crowded "crowded" "there are too many connections without a hello",
    /// The predecessor does not read its acknowledgements.
    Unread "unread" "the peer does not read this node's frames",
    /// A message of an election came to a node that is not a member.
    NotMember "not_member" "this node is not a member, so it ignores elections",
    /// An election names a node that is not in the list.
    UnknownNode "unknown_node" "it names a node that is not in the list",
    /// A RING_BASED ELECTION has no ids, or more ids than the list has nodes.
    Candidates "candidates" "it has no candidates or too many",
    /// This node sent the same result or candidate less than T1 ago.
    Repeated "repeated" "this node forwarded the same content less than T1 ago",
    /// This node already takes part in the election, and the CHANG_ROBERTS candidate is smaller than this node.
    Outbid "outbid" "this node has already proposed a larger candidate",
    /// A BULLY ELECTION came from a node with a larger id.
    Larger "larger" "its sender has the larger id, so it needs no reply",
    /// This node does not wait for an OK, or the OK came from a node with a smaller id.
    Unasked "unasked" "this node does not wait for this OK",
    /// A BULLY COORDINATOR names a node that is not its sender.
    NotItself "not_itself" "its sender is not the coordinator that it announces",
}
