//! The status of a node (`docs/jitterbug/status.md`, "Status").

use std::net::IpAddr;

use ring_codec::jitterbug::Node;

use super::Difference;

/// The state of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// The node is in no ring.
    Orphan,
    /// The node waits for the token.
    Waiter,
    /// The node holds the token.
    Leader,
}

impl State {
    /// Returns the name in the status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Orphan => "orphan",
            Self::Waiter => "waiter",
            Self::Leader => "leader",
        }
    }
}

/// A short status of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeSummary {
    /// Orphan, waiter or leader.
    pub state: State,
    /// The absolute token_id.
    pub token_id: u32,
    /// Whether local work may use the token now.
    pub may_use: bool,
}

/// The values that `ringctl status` shows, with three exceptions: the data ([`data`](super::Jitterbug::data)), the
/// counters ([`counters`](super::Jitterbug::counters)) and the name of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The node's address; `None` if the node has none.
    pub address: Option<IpAddr>,
    /// The UDP port.
    pub udp_port: u16,
    /// The port of the TCP listener; `None` before it is known.
    pub tcp_port: Option<u16>,
    /// Orphan, waiter or leader.
    pub state: State,
    /// The absolute token_id.
    pub token_id: u32,
    /// The list in its order, including the node's own entry.
    pub nodes: Vec<NodeStatus>,
    /// The nodes that wait to be added, in the order of their arrival.
    pub to_add: Vec<Node>,
    /// The hash of the list.
    pub node_list_hash: i32,
    /// The nodes whose options differ from this node's options.
    pub differing: Vec<(IpAddr, Difference)>,
    /// Whether local work must not use the token because a ring with a different policy has a stronger token.
    pub is_outranked: bool,
}

/// An entry of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeStatus {
    /// The entry.
    pub node: Node,
    /// The threshold of the node's penalty: the number of failed passes minus the number of successful passes.
    pub threshold: u32,
    /// The count of the node's penalty. If the count is 2^threshold - 1, the leader tries the node.
    pub count: u32,
}
