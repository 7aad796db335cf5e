//! The status of a server of the token service (`docs/token-service/status.md`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ConfigStatus, Health, NodeStatus, TrustStatus};

/// The system's name in its status.
pub const SYSTEM: &str = "ftn";
const READY: &str = "READY";

/// The status of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The program's version.
    pub ringd: String,
    /// Time since the start, in nanoseconds.
    pub up_ns: u64,
    /// The server's index in the list.
    pub index: usize,
    /// All servers, in the order of the list.
    pub servers: Vec<ServerStatus>,
    /// The signature of the list.
    pub ssig: i32,
    /// The number of servers that a leader needs for its authority, including the leader.
    pub quorum: usize,
    /// `electing`, `follower` or `leader`.
    pub role: String,
    /// The state of this server: `DOWN`, `BOOTING` or `READY`.
    pub state: String,
    /// The index of the leader; `null` if the server knows no leader.
    pub leader: Option<usize>,
    /// The number of the configuration; 0 if the server knows no configuration.
    pub configuration: u64,
    /// The round of the last STATE message that the server sent or obeyed. The round is a part of the message's
    /// sequence number.
    pub round: u32,
    /// Whether the server may grant and change tokens. A leader has this authority while it has a quorum. A follower
    /// has this authority while it receives messages from its leader.
    pub authority: bool,
    /// The remaining grace time, in nanoseconds. During the grace time, clients may continue the sessions that they had
    /// before the servers were restarted.
    pub grace_ns: u64,
    /// The sessions that have not yet answered the survey that is running. The list is `null` if no survey runs.
    pub survey: Option<Vec<i32>>,
    /// The sessions of all clients.
    pub sessions: Vec<SessionStatus>,
    /// The number of known tokens.
    pub tokens: usize,
    /// The number of held tokens.
    pub held: usize,
    /// The number of requests that wait for a token.
    pub waiting: usize,
    /// The memory that the tokens use, in bytes. The maximum is `max_memory_bytes`.
    pub memory_bytes: usize,
    /// The memory that incomplete messages use, in bytes. A message is incomplete until all its parts have arrived.
    #[serde(default)]
    pub parts_bytes: usize,
    /// The memory that the tokens may use.
    pub max_memory_bytes: usize,
    /// The keys of this server.
    #[serde(default)]
    pub trust: TrustStatus,
    /// The limits of the daemon's sandbox that this kernel does not support. The list is empty if the kernel supports
    /// all limits.
    #[serde(default)]
    pub missing_limits: Vec<String>,
    /// The options of the daemon, with the source of each value.
    #[serde(default)]
    pub config: ConfigStatus,
    /// The server's health.
    #[serde(default = "Health::default_when_absent")]
    pub health: Health,
    /// The problems and their remedies, as sentences. The worst problem comes first.
    #[serde(default)]
    pub troubles: Vec<String>,
    /// Counters since the start, by name. The value of a missing counter is 0.
    pub counters: BTreeMap<String, u64>,
}

/// A server of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// The server's line in the list.
    pub name: String,
    /// The state of the server, according to the configuration: `DOWN`, `BOOTING` or `READY`.
    pub state: String,
    /// The id of the key with which the server signs its messages. The id is `null` in the entry of this server, and
    /// for each server without a valid signature. If this server has no keys, all ids are `null`.
    #[serde(default)]
    pub key: Option<u32>,
}

/// A session of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// The session's number.
    pub id: i32,
    /// The address of the session's client.
    pub address: String,
    /// The id of the key with which the client signs its messages. The id is `null` if this server has no keys, or if
    /// no message of the client had a valid signature.
    #[serde(default)]
    pub key: Option<u32>,
}

impl Status {
    /// Whether the server currently grants its tokens to clients.
    pub fn is_serving(&self) -> bool {
        self.authority && self.state == READY
    }
}

impl From<&Status> for NodeStatus {
    fn from(status: &Status) -> Self {
        Self::new(SYSTEM, status)
    }
}
