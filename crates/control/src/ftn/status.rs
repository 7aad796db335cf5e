//! The status of a server (`docs/ftn.md`, section 9).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Health, NodeStatus};

/// The name of the system in its status.
pub const SYSTEM: &str = "ftn";
/// The state of a server that serves its tokens.
const READY: &str = "READY";

/// What a server shows of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The version of the program.
    pub ringd: String,
    /// How long it has run.
    pub up_ns: u64,
    /// Its place in the list.
    pub index: usize,
    /// All servers, in the order of the list.
    pub servers: Vec<ServerStatus>,
    /// The signature of the list.
    pub ssig: i32,
    /// The servers, itself included, without which a leader has no authority.
    pub quorum: usize,
    /// `electing`, `follower` or `leader`.
    pub role: String,
    /// What it says to be: `DOWN`, `BOOTING` or `READY`.
    pub state: String,
    /// The place of the server that leads, if it knows one.
    pub leader: Option<usize>,
    /// The number of the configuration, 0 while it knows none.
    pub configuration: u64,
    /// The round of the last STATE that it has sent or followed, as its seq has it.
    pub round: u32,
    /// Whether it may serve and change: as a leader with its quorum, or a follower that hears its leader.
    pub authority: bool,
    /// What is left of the time in which sessions of an earlier run may come back.
    pub grace_ns: u64,
    /// The sessions that a survey waits for; `null`: there is no survey.
    pub survey: Option<Vec<i32>>,
    /// The sessions.
    pub sessions: Vec<SessionStatus>,
    /// Tokens that it knows.
    pub tokens: usize,
    /// Those of them that are held.
    pub held: usize,
    /// Requests that wait.
    pub waiting: usize,
    /// What the tokens take of `max_memory_bytes`.
    pub memory_bytes: usize,
    /// What messages in parts take that are under way.
    #[serde(default)]
    pub parts_bytes: usize,
    /// What the tokens may take.
    pub max_memory_bytes: usize,
    /// How well the server does what it is for.
    #[serde(default = "Health::untold")]
    pub health: Health,
    /// What is wrong and what to do, as sentences, the worst first.
    #[serde(default)]
    pub troubles: Vec<String>,
    /// What has happened since its start, by name. What is not there is 0.
    pub counters: BTreeMap<String, u64>,
}

/// A server of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// Its line in the list.
    pub name: String,
    /// `DOWN`, `BOOTING` or `READY`, as the configuration has it.
    pub state: String,
}

/// A session of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// Its number.
    pub id: i32,
    /// Where its client is.
    pub address: String,
}

impl Status {
    /// Whether it serves its tokens now.
    pub fn is_serving(&self) -> bool {
        self.authority && self.state == READY
    }
}

impl From<&Status> for NodeStatus {
    fn from(status: &Status) -> Self {
        Self::new(SYSTEM, status)
    }
}
