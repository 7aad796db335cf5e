//! What is kept of one node.

use std::collections::VecDeque;
use std::net::SocketAddr;

use ring_proto::andrews::{Answer, Command, Job};

use super::notation::address;
use super::plan::Mood;

/// A node, whether its process is alive or dead.
#[derive(Debug)]
pub struct Own {
    /// Its id in the list.
    pub id: u32,
    /// Where its socket and its listener are.
    pub address: SocketAddr,
    /// How often the token was here.
    pub visits: u64,
    /// How the database treats it.
    pub mood: Mood,
    /// The node that its list lacks.
    pub lacks: Option<usize>,
    /// Its process, or the next one while it is dead.
    pub process: Process,
}

/// A node's process in one of its lives. Times are in nanoseconds of the world's.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each may be true without the others"
)]
pub struct Process {
    /// It has ended of its own.
    pub left: bool,
    /// It was told to.
    pub is_leaving: bool,
    /// Whether it has the token, and may use it.
    pub holds: bool,
    /// The largest sequence that it has held.
    pub highest: u64,
    /// What it has passed on, if nothing has come since.
    pub passed: Option<u64>,
    /// The job that a database that can only be read has refused last.
    pub refused: Option<u64>,
    /// It was told of that, and of no write that was done since.
    pub is_refused: bool,
    /// When the database, or its own host, was last in its way.
    pub troubled_at: Option<u64>,
    /// It has no link since then.
    pub alone_since: Option<u64>,
    /// Its successor is lost, or it wants to join, since then.
    pub lost_at: Option<u64>,
    /// When somebody else connected in a node's name, whatever links there were.
    pub forged_at: Option<u64>,
    /// When it had the token last.
    pub held_at: u64,
    /// Its transactions.
    pub worker: Worker,
    /// Requests to which it has not answered.
    pub asked: usize,
    /// What has happened in the present input.
    pub input: Input,
    /// What it has read and sent that has to be in proportion.
    pub ledger: Ledger,
}

/// What has happened in one input.
#[derive(Debug, Default)]
pub struct Input {
    /// A token that was here is forgotten.
    pub has_lost: bool,
    /// Requests that were answered.
    pub answers: Vec<(u64, Answer)>,
}

/// Datagrams of this life, and what they have led to.
#[derive(Debug, Default)]
pub struct Ledger {
    /// JOIN and `SUCCESSOR_REQUEST` that were read.
    pub pleas: u64,
    /// ELECTION of the method BULLY that were read.
    pub calls: u64,
    /// SUCCESSOR that were sent.
    pub answers: u64,
    /// OK that were.
    pub oks: u64,
    /// Nodes that it has put in, itself and others.
    pub joined: u64,
}

/// A process's session.
#[derive(Debug, Default)]
pub struct Worker {
    pub waiting: VecDeque<Job>,
    pub is_busy: bool,
    /// What it does is not done as it should be.
    pub is_in_trouble: bool,
}

/// What reaches a process from its own host.
#[derive(Debug, Clone)]
pub enum Told {
    /// It is asked for something, or has an answer of the database.
    Asked(Command),
    /// Its sockets are bound.
    Bound,
}

impl Own {
    /// A node that never ran.
    pub fn new(at: usize, id: u32) -> Self {
        Self {
            id,
            address: address(at),
            visits: 0,
            mood: Mood::Quick,
            lacks: None,
            process: Process::default(),
        }
    }
}
