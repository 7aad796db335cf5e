//! What a node shows of itself (`docs/jitterbug.md`, section 11).

use std::net::IpAddr;

use ring_codec::jitterbug::Node;

use super::Difference;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It has no ring.
    Orphan,
    /// It waits for the token.
    Waiter,
    /// It holds the token.
    Leader,
}

impl State {
    /// The name in `state`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Orphan => "orphan",
            Self::Waiter => "waiter",
            Self::Leader => "leader",
        }
    }
}

/// What a node is, in a few words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Orphan, waiter or leader.
    pub state: State,
    /// The absolute token_id.
    pub token_id: u32,
    /// Whether local work may use the token now.
    pub may_use: bool,
}

/// What `ringctl status` shows, but for the data ([`data`](super::Jitterbug::data)), the counters
/// ([`counters`](super::Jitterbug::counters)) and the interface's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The own address; `None`: there is none.
    pub address: Option<IpAddr>,
    /// The UDP port.
    pub udp_port: u16,
    /// The port of the TCP listener; `None` as long as that is not known.
    pub tcp_port: Option<u16>,
    /// Orphan, waiter or leader.
    pub state: State,
    /// The absolute token_id.
    pub token_id: u32,
    /// The list, in its order, with the own entry.
    pub nodes: Vec<NodeStatus>,
    /// Nodes that wait to be in it, in the order in which they came.
    pub to_add: Vec<Node>,
    /// The hash of the list.
    pub node_list_hash: i32,
    /// The nodes whose options differ from the own ones.
    pub differing: Vec<(IpAddr, Difference)>,
    /// Whether a stronger ring of another policy keeps local work from the token.
    pub is_outranked: bool,
}

/// An entry of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeStatus {
    /// The entry.
    pub node: Node,
    /// Its penalty's threshold: how many passes to it have failed more than were done.
    pub threshold: u32,
    /// Its penalty's count: it is tried at 2^threshold - 1.
    pub count: u32,
}
