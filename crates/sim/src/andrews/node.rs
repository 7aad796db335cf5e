//! The part of each node's data that only the coordinated ring has.

use std::collections::VecDeque;
use std::net::SocketAddr;

use ring_proto::andrews::{Command, Job, RequestAnswer};

use super::notation::address;
use super::schedule::DatabaseBehavior;

/// A node, alive or dead.
#[derive(Debug)]
pub(super) struct NodeData {
    pub(super) id: u32,
    /// The address of the node's socket and listener.
    pub(super) address: SocketAddr,
    /// The number of times that the node got the token.
    pub(super) visits: u64,
    pub(super) behavior: DatabaseBehavior,
    /// The node that is missing from this node's list.
    pub(super) lacks: Option<usize>,
    /// The current process, or the next process while the node is dead.
    pub(super) process: Process,
}

/// The data of one process of a node. Times are simulated, in nanoseconds.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each may be true without the others"
)]
pub(super) struct Process {
    /// Whether the process has ended by itself.
    pub(super) left: bool,
    /// Whether the process got the command to end.
    pub(super) is_leaving: bool,
    /// Whether the process has the token and may use it.
    pub(super) holds: bool,
    /// The largest sequence among the tokens that the process has held.
    pub(super) highest: u64,
    /// The sequence of the token that the process passed on; `None` after the process receives a token.
    pub(super) passed: Option<u64>,
    /// The last job that a read-only database has refused.
    pub(super) refused: Option<u64>,
    /// Whether the process received a refusal of the read-only database, and no write has succeeded since then.
    pub(super) is_refused: bool,
    /// The last time at which the database or its host was slow or failed.
    pub(super) troubled_at: Option<u64>,
    /// The time at which the process's link went down; `None` if the link is up.
    pub(super) alone_since: Option<u64>,
    /// The time at which the process lost its successor or began to join; `None` if the process has a successor.
    pub(super) lost_at: Option<u64>,
    /// The last time at which a stranger connected in a node's name.
    pub(super) forged_at: Option<u64>,
    /// The last time at which the process had the token.
    pub(super) held_at: u64,
    pub(super) worker: Worker,
    /// The number of requests that the process has not answered.
    pub(super) asked: usize,
    pub(super) input: InputEvents,
    pub(super) datagrams: DatagramCounts,
}

#[derive(Debug, Default)]
pub(super) struct InputEvents {
    /// Whether the process has forgotten a token.
    pub(super) has_lost: bool,
    /// The requests that were answered.
    pub(super) answers: Vec<(u64, RequestAnswer)>,
}

/// Numbers of a process's datagrams, which the checks compare.
#[derive(Debug, Default)]
pub(super) struct DatagramCounts {
    /// The number of sent SUCCESSOR messages.
    pub(super) answers: u64,
    /// The number of sent OK messages.
    pub(super) oks: u64,
    /// The number of nodes that the process has inserted, including itself.
    pub(super) joined: u64,
}

/// The database session of a process.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) waiting: VecDeque<Job>,
    pub(super) is_busy: bool,
    /// Whether the database delays this session's transaction, lets it fail, or behaves abnormally in another way.
    pub(super) is_in_trouble: bool,
}

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
