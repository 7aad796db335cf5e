//! The coordinated ring's data of each node.

use std::collections::VecDeque;
use std::net::SocketAddr;

use ring_proto::andrews::{Command, Job, RequestAnswer};

use super::notation::address;
use super::schedule::DatabaseBehavior;

/// A node, alive or dead.
#[derive(Debug)]
pub(super) struct NodeData {
    pub(super) id: u32,
    /// The address of its socket and its listener.
    pub(super) address: SocketAddr,
    /// The number of times at which it got the token.
    pub(super) visits: u64,
    /// The behavior of the database for this node.
    pub(super) behavior: DatabaseBehavior,
    /// The node that its list lacks.
    pub(super) lacks: Option<usize>,
    /// The current process, or the next one while it is dead.
    pub(super) process: Process,
}

/// The data of one process of a node. Times are simulated, in nanoseconds.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each may be true without the others"
)]
pub(super) struct Process {
    /// Whether it has ended by itself.
    pub(super) left: bool,
    /// Whether it was told to end.
    pub(super) is_leaving: bool,
    /// Whether it has the token and may use it.
    pub(super) holds: bool,
    /// The largest sequence that it has held.
    pub(super) highest: u64,
    /// The sequence that it has passed on, if no token has come since.
    pub(super) passed: Option<u64>,
    /// The last job that a read-only database has refused.
    pub(super) refused: Option<u64>,
    /// Whether it has got that refusal, and no successful write since.
    pub(super) is_refused: bool,
    /// The last time at which the database or its host was slow or failed.
    pub(super) troubled_at: Option<u64>,
    /// The time since which it has no link.
    pub(super) alone_since: Option<u64>,
    /// The time since which its successor is lost or it wants to join.
    pub(super) lost_at: Option<u64>,
    /// The last time at which a stranger connected in a node's name.
    pub(super) forged_at: Option<u64>,
    /// The last time at which it had the token.
    pub(super) held_at: u64,
    pub(super) worker: Worker,
    /// The number of requests that it has not answered.
    pub(super) asked: usize,
    pub(super) input: InputEvents,
    pub(super) datagrams: DatagramCounts,
}

#[derive(Debug, Default)]
pub(super) struct InputEvents {
    /// Whether the process has forgotten a token.
    pub(super) has_lost: bool,
    /// Requests that were answered.
    pub(super) answers: Vec<(u64, RequestAnswer)>,
}

/// The datagrams of a process whose numbers are compared.
#[derive(Debug, Default)]
pub(super) struct DatagramCounts {
    /// Sent SUCCESSOR.
    pub(super) answers: u64,
    /// Sent OK.
    pub(super) oks: u64,
    /// Nodes that it has inserted, with itself.
    pub(super) joined: u64,
}

/// The database session of a process.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) waiting: VecDeque<Job>,
    pub(super) is_busy: bool,
    /// Whether the database does not process its transaction normally.
    pub(super) is_in_trouble: bool,
}

/// An input from the node's host.
#[derive(Debug, Clone)]
pub(super) enum HostInput {
    /// A command, or an answer of the database.
    Command(Command),
    Bound,
}

impl NodeData {
    /// Returns a node that has never run.
    pub(super) fn new(at: usize, id: u32) -> Self {
        Self {
            id,
            address: address(at),
            visits: 0,
            behavior: DatabaseBehavior::Quick,
            lacks: None,
            process: Process::default(),
        }
    }
}
