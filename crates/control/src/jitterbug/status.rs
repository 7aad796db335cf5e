//! The status of a node of a Jitterbug ring. The field names are the JSON keys of `docs/jitterbug/status.md`,
//! "Status".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ConfigStatus, Health, NodeStatus, TrustStatus};

/// The status of a node: the ring as this node knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The system's name, [`SYSTEM`](super::SYSTEM).
    pub protocol: String,
    /// The name of the node's interface.
    pub interface: String,
    /// The node's address; `null` if the node has no address.
    pub address: Option<String>,
    /// The UDP port of all nodes.
    pub udp_port: u16,
    /// The port of the node's TCP listener. The port is `null` until the node gets its first address.
    pub tcp_port: Option<u16>,
    /// `orphan`, `waiter` or `leader`.
    pub state: String,
    /// The absolute value of the token's field `token_id`.
    pub token_id: u32,
    /// The nodes of the list, in the order of the list. This node is included.
    pub nodes: Vec<EntryStatus>,
    /// The nodes that a leader will add to the list.
    pub to_add: Vec<NodeEntry>,
    /// The hash of the list.
    pub node_list_hash: i32,
    /// The first 256 bytes of the token's data as text. The text is `null` if the first 256 bytes are not all printable
    /// ASCII.
    pub data: Option<String>,
    /// The first 256 bytes of the token's data, in hexadecimal digits.
    pub data_hex: String,
    /// The length of the token's data in bytes.
    pub data_len: usize,
    /// A time in milliseconds. If the event loop of a leader was stalled for at most this time, the node is still
    /// leader.
    #[serde(default)]
    pub lease_ms: u64,
    /// The keys of the node.
    #[serde(default)]
    pub trust: TrustStatus,
    /// The limits of the daemon's sandbox that this kernel does not support. The list is empty if the kernel supports
    /// all limits.
    #[serde(default)]
    pub missing_limits: Vec<String>,
    /// The options of the daemon, with the source of each value.
    #[serde(default)]
    pub config: ConfigStatus,
    /// The health of the node and its ring.
    #[serde(default = "Health::default_when_absent")]
    pub health: Health,
    /// The problems and the remedies, as sentences, the worst first.
    #[serde(default)]
    pub troubles: Vec<String>,
    /// The counters since the start.
    pub counters: CountersStatus,
}

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryStatus {
    /// The node's address.
    pub address: String,
    /// The port of the node's TCP listener.
    pub port: u16,
    /// The id of the key with which the node signs its datagrams. The id is `null` in the entry of this node, and for
    /// each node without a valid signature. If this node has no keys, all ids are `null`.
    #[serde(default)]
    pub key: Option<u32>,
    /// The penalty. When a node with a penalty should get the token, leaders skip it some of the times.
    pub penalty: Penalty,
}

/// A node that a leader will add to the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeEntry {
    /// The node's address.
    pub address: String,
    /// The port of the node's TCP listener.
    pub port: u16,
}

/// The penalty of a node of the list. When `count` reaches 2^`threshold` - 1, a leader tries again to pass the token to
/// this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Penalty {
    /// The number of failed attempts to pass the token to the node, minus the number of successful attempts.
    pub threshold: u32,
    /// The number of turns in which leaders skipped the node.
    pub count: u32,
}

/// The counters of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountersStatus {
    /// All counters except the counters of dropped messages.
    #[serde(flatten)]
    pub plain: BTreeMap<String, u64>,
    /// Dropped messages by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Received datagrams whose signature was missing, wrong or used before, by reason (`unsigned`, …). If the node
    /// accepts unsigned messages, it accepted some of these datagrams. It dropped the others.
    #[serde(default)]
    pub unproven: BTreeMap<String, u64>,
}

impl From<&Status> for NodeStatus {
    /// Creates a status with only the keys that `docs/jitterbug/status.md` lists.
    fn from(status: &Status) -> Self {
        Self::of_keys(status)
    }
}
