//! Why a frame was dropped or a connection closed (`docs/board.md`, sections 2 and 11).

use crate::counted::reasons;

reasons! {
    /// Why a frame changed nothing and was not answered, or a connection was closed.
    pub enum Reason;

    /// It does not decode, or its stream ends inside it.
    Malformed "malformed" "it breaks the wire format",
    /// srcId is not in the list, its address is not that node's, or it is the receiver; on a connection also another
    /// srcId than the hello's.
    WrongSource "wrong_source" "it does not come from the node that it names",
    /// It came over a way that its type does not take.
    WrongTransport "wrong_transport" "its type does not travel this way",
    /// A token that is no newer than one that was here.
    Duplicate "duplicate" "the token is no newer than one that was here",
    /// A token of a term that the database does not know, or that cannot be looked up.
    FromFuture "from_future" "the token's term is above that of the database",
    /// The first frame of a connection is no SUCCESSOR that names this node.
    NotHello "not_hello" "the connection does not begin with a hello for this node",
    /// No hello within connect-timeout, or no end of a frame within liveness.
    Late "late" "its frame was not over in time",
    /// More than 16 connections without a hello: the oldest goes.
    Crowded "crowded" "there are too many connections without a hello",
    /// The predecessor does not read its acknowledgements.
    Unread "unread" "the peer does not read what it is sent",
    /// An election's message came to a node that is no member.
    NotMember "not_member" "the node takes no part in elections",
    /// An election names a node that is not in the list.
    UnknownNode "unknown_node" "the node that it names is not in the list",
    /// A RING_BASED ELECTION without ids, or with more than the list has.
    Candidates "candidates" "its candidates cannot be those of this ring",
    /// A result or a candidate that was sent on less than T1 ago.
    Repeated "repeated" "the same was sent on less than T1 ago",
    /// A CHANG_ROBERTS candidate below this node, which has taken part.
    Outbid "outbid" "this node has already proposed a larger candidate",
    /// A BULLY ELECTION from a larger node.
    Larger "larger" "its sender is the better candidate",
    /// An OK that this node does not wait for, or from a smaller node.
    Unasked "unasked" "nobody asked for it",
    /// A BULLY COORDINATOR whose coordinatorId is not its sender.
    NotItself "not_itself" "its sender announces another node",
}
