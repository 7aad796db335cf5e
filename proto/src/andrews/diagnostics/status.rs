//! The status of a node (`docs/board/status.md`).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::andrews::Method;

use crate::StreamId;
use crate::andrews::{DatabaseState, State};

/// A short status of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeSummary {
    /// The node's state.
    pub state: State,
    /// The coordinator according to the last rows that the node read.
    pub coordinator: Option<u32>,
    /// Whether the coordinator is this node.
    pub is_coordinator: bool,
    /// Whether the node may use the table of posts now.
    pub may_use: bool,
}

/// A neighbor in the ring, to which a connection is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbor {
    /// The id of the node.
    pub id: u32,
    /// The connection.
    pub stream: StreamId,
}

/// The values that `GET /ring` shows. The counters are not among these values, because
/// [`Andrews::counters`](super::super::Andrews::counters) returns them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// This node's id.
    pub id: u32,
    /// The node's state.
    pub state: State,
    /// The coordinator according to the last rows that the node read.
    pub coordinator: Option<u32>,
    /// Whether the coordinator is an acting coordinator, not an elected coordinator.
    pub acting: bool,
    /// The version of the coordinator's row.
    pub term: u64,
    /// Ids of the members in ring order, from the smallest id.
    pub members: Vec<u32>,
    /// The successor; `None` if the connection from this node to its successor is down.
    pub successor: Option<u32>,
    /// The predecessor; `None` if its connection to this node is down.
    pub predecessor: Option<u32>,
    /// This node's knowledge about the token.
    pub token: TokenStatus,
    /// The elections of this node.
    pub election: ElectionStatus,
    /// Whether the database answers.
    pub database: DatabaseState,
    /// The number of requests that wait or are being served.
    pub waiting: usize,
    /// Nodes that have a row in the database, but are not in the list.
    pub unknown_rows: Vec<u32>,
    /// Nodes whose frames come from a different address than the address in the list.
    pub unknown_senders: Vec<(u32, IpAddr)>,
    /// The coordinator, if it is alive but does not answer this node's requests.
    pub unanswered: Option<u32>,
}

/// A node's knowledge about the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenStatus {
    /// Whether this node holds the token.
    pub held: bool,
    /// The largest sequence that this node has held.
    pub sequence: u64,
    /// The time since this node last saw a sign of the token, or `None` if it never saw one.
    pub seen: Option<Duration>,
    /// The time since this node last held or passed the token, or `None` if this node never held a token.
    pub here: Option<Duration>,
}

/// The elections of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElectionStatus {
    /// The method of the current handler.
    pub method: Method,
    /// Whether an election runs and its result is open.
    pub ongoing: bool,
    /// Elections that this node started.
    pub started: u64,
    /// Elections that this node won.
    pub won: u64,
}
