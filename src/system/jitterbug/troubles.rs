//! The troubles of a node of Jitterbug.

use ring_control::troubles;

troubles! {
    pub(crate) TROUBLES:
    NODE_DIFFERS "node_differs" Degraded "give all nodes"
        "a node has different times or programs than this node";
    NO_ADDRESS "no_address" Critical "has no address, or is down"
        "the interface of this node has no address";
    NOT_TAKING "not_taking" Degraded "does not take the token"
        "handovers to a node fail";
    ONLY_NODE "only_node" Degraded "this node is the only one in its ring"
        "this node hears no other node";
    ORPHAN "orphan" Critical "this node has no ring and looks for a leader"
        "the node has no ring";
    OUTRANKED "outranked" Critical "has the stronger token"
        "a ring with other programs is stronger, so programs of this ring get no token";
    STARVING "starving" Critical "three times in a row"
        "handovers to this node fail";
}
