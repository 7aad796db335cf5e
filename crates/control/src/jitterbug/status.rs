//! The status of a node of a Jitterbug ring. The field names are the keys of its JSON (`docs/jitterbug.md`, section 11).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Health, NodeStatus};

/// A node's view of its ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// [`SYSTEM`](super::SYSTEM).
    pub protocol: String,
    /// The interface's name.
    pub interface: String,
    /// The own address; `null`: there is none.
    pub address: Option<String>,
    /// The UDP port of all nodes.
    pub udp_port: u16,
    /// The port of the own TCP listener; `null`: there was no address yet to listen at.
    pub tcp_port: Option<u16>,
    /// `orphan`, `waiter` or `leader`.
    pub state: String,
    /// The absolute `token_id`.
    pub token_id: u32,
    /// The list, in its order, with the own entry.
    pub nodes: Vec<EntryStatus>,
    /// Nodes that a leader will add to the list.
    pub to_add: Vec<NodeEntry>,
    /// The hash of the list.
    pub node_list_hash: i32,
    /// Its data as text, the first 256 bytes of them; `null` if they are not all printable ASCII.
    pub data: Option<String>,
    /// Its first 256 bytes, in hexadecimal digits.
    pub data_hex: String,
    /// Its length in bytes.
    pub data_len: usize,
    /// How long the loop may stand still before the node no longer leads, in milliseconds.
    #[serde(default)]
    pub lease_ms: u64,
    /// How well the node and its ring do what they are for.
    #[serde(default = "Health::untold")]
    pub health: Health,
    /// What is wrong and what to do, as sentences, the worst first.
    #[serde(default)]
    pub troubles: Vec<String>,
    /// What was counted since the start.
    pub counters: CountersStatus,
}

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryStatus {
    /// The node's address.
    pub address: String,
    /// The port of its TCP listener.
    pub port: u16,
    /// How often it is skipped.
    pub penalty: Penalty,
}

/// A node that is not in the list yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeEntry {
    /// Its address.
    pub address: String,
    /// The port of its TCP listener.
    pub port: u16,
}

/// The penalty of a candidate: it is tried once `count` is 2^`threshold` - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Penalty {
    /// Failures, less successes.
    pub threshold: u32,
    /// Turns that it was skipped.
    pub count: u32,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountersStatus {
    /// All but what was dropped.
    #[serde(flatten)]
    pub plain: BTreeMap<String, u64>,
    /// What was dropped, by reason.
    pub dropped: BTreeMap<String, u64>,
}

impl From<&Status> for NodeStatus {
    /// Its keys are those of its page and no others.
    fn from(status: &Status) -> Self {
        Self::of_keys(status)
    }
}
