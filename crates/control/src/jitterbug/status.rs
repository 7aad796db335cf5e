//! The status of a node of a Jitterbug ring. The field names are the keys of its JSON (`docs/jitterbug.md`, section 11).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Health, NodeStatus};

/// The status of a node: its view of the ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The system's name, [`SYSTEM`](super::SYSTEM).
    pub protocol: String,
    /// The name of the interface.
    pub interface: String,
    /// The node's address; `null` if it has none.
    pub address: Option<String>,
    /// The UDP port of all nodes.
    pub udp_port: u16,
    /// The port of the node's TCP listener; `null` before the node had an address.
    pub tcp_port: Option<u16>,
    /// `orphan`, `waiter` or `leader`.
    pub state: String,
    /// The absolute `token_id`.
    pub token_id: u32,
    /// The list in its order, including this node.
    pub nodes: Vec<EntryStatus>,
    /// Nodes that a leader will add to the list.
    pub to_add: Vec<NodeEntry>,
    /// The hash of the list.
    pub node_list_hash: i32,
    /// The first 256 bytes of the data as text; `null` if they are not printable ASCII.
    pub data: Option<String>,
    /// The first 256 bytes of the data in hexadecimal digits.
    pub data_hex: String,
    /// The length of the data in bytes.
    pub data_len: usize,
    /// Maximum stall of the loop until the node stops leading, in milliseconds.
    #[serde(default)]
    pub lease_ms: u64,
    /// The health of the node and its ring.
    #[serde(default = "Health::unreported")]
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
    /// The port of its TCP listener.
    pub port: u16,
    /// The penalty, by which the node is skipped.
    pub penalty: Penalty,
}

/// A node that is not in the list yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeEntry {
    /// The node's address.
    pub address: String,
    /// The port of its TCP listener.
    pub port: u16,
}

/// The penalty of a candidate. It is tried when `count` is 2^`threshold` - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Penalty {
    /// The number of failures minus successes.
    pub threshold: u32,
    /// The number of turns in which the node was skipped.
    pub count: u32,
}

/// The counters of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountersStatus {
    /// All counters except those of dropped messages.
    #[serde(flatten)]
    pub plain: BTreeMap<String, u64>,
    /// Dropped messages by reason.
    pub dropped: BTreeMap<String, u64>,
}

impl From<&Status> for NodeStatus {
    /// Creates a status with only the keys that Jitterbug's document defines.
    fn from(status: &Status) -> Self {
        Self::of_keys(status)
    }
}
