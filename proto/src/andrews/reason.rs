//! The reasons for which frames are dropped and connections closed (`docs/board.md`, sections 2 and 11).

use crate::counted::reasons;

reasons! {
    /// The reason for which a frame was dropped or a connection was closed. A dropped frame gets no answer.
    pub enum Reason;

    /// The frame does not decode, or its stream ends within it.
    Malformed "malformed" "it breaks the wire format",
    /// The frame's srcId is not in the list, has another address there, or is the receiver. On a connection also a
    /// srcId that differs from the hello's.
    WrongSource "wrong_source" "it does not come from the node that it names",
    /// The frame's type does not travel on this transport.
    WrongTransport "wrong_transport" "its type does not travel this way",
    /// The token is no newer than one that this node has held.
    Duplicate "duplicate" "the token is no newer than one that was here",
    /// The token's term is newer than the database's, or cannot be looked up.
    FromFuture "from_future" "the token's term is above that of the database",
    /// The first frame of a connection is no SUCCESSOR that names this node.
    NotHello "not_hello" "the connection does not begin with a hello for this node",
    /// A hello took longer than connect-timeout, or a frame took longer than liveness.
    Late "late" "its frame was not over in time",
    /// More than 16 connections had no hello, so the oldest was closed.
    Crowded "crowded" "there are too many connections without a hello",
    /// The predecessor does not read its acknowledgements.
    Unread "unread" "the peer does not read what it is sent",
    /// A message of an election came to a node that is no member.
    NotMember "not_member" "the node takes no part in elections",
    /// An election names a node that is not in the list.
    UnknownNode "unknown_node" "the node that it names is not in the list",
    /// A RING_BASED ELECTION has no ids, or more than the list.
    Candidates "candidates" "its candidates cannot be those of this ring",
    /// A result or a candidate was sent on less than T1 ago.
    Repeated "repeated" "the same was sent on less than T1 ago",
    /// A CHANG_ROBERTS candidate is smaller than this node, which has already taken part.
    Outbid "outbid" "this node has already proposed a larger candidate",
    /// A BULLY ELECTION came from a larger node.
    Larger "larger" "its sender is the better candidate",
    /// This node did not wait for the OK, or the OK came from a smaller node.
    Unasked "unasked" "nobody asked for it",
    /// A BULLY COORDINATOR names another node than its sender.
    NotItself "not_itself" "its sender announces another node",
}
