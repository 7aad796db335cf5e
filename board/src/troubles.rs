//! The troubles of a node of the board.

use ring_control::troubles;

troubles! {
    pub(crate) TROUBLES:
    DATABASE_FAILED "database_failed" Critical "the database cannot be used"
        "transactions fail, or the database does not answer";
    LINK_FAILED "link_failed" Degraded "this node sends and receives no datagrams"
        "the address of this node cannot be used";
    NOT_IN_RING "not_in_ring" Critical "this node is not in the ring"
        "the node is no member, or has no neighbor";
    UNANSWERED "unanswered" Degraded "answers no request"
        "the coordinator does not answer this node";
    UNKNOWN_ROW "unknown_row" Degraded "the list does not have it"
        "the database has a node that the list does not have";
    UNKNOWN_SENDER "unknown_sender" Degraded "the list has no node"
        "a node sends messages from an address that the list does not have for this node";
}
