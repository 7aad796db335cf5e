//! Status of a server (`docs/token-service/status.md`).

use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::ServerState;

use super::Server;
use crate::ftn::server::tokens::Token;
use crate::ftn::server::{Counters, RoleKind, ServerSummary};

/// Data of `ringctl status`, except the names of the servers and the counters ([`Server::counters`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Index of the server.
    pub index: usize,
    /// State of every server in the configuration. While no configuration is known, all servers are DOWN.
    pub states: Vec<ServerState>,
    /// Signature of the list of servers.
    pub ssig: i32,
    /// Electing, follower or leader.
    pub role: RoleKind,
    /// State that the server announces.
    pub state: ServerState,
    /// Index of the leader; `None` during an election.
    pub leader: Option<usize>,
    /// Number of the configuration; 0 while no configuration is known.
    pub configuration: u64,
    /// Seq of the last STATE that the server sent or followed; 0 if there was no STATE.
    pub seq: i128,
    /// Whether the server is in force: it is a leader with its quorum, or a follower that received STATE within ¾ ST.
    pub authority: bool,
    /// Remaining time of the grace. During the grace, the leader adopts sessions.
    pub grace: Duration,
    /// Sessions whose answers a survey waits for; `None` if there is no survey.
    pub survey: Option<Vec<i32>>,
    /// Ids and addresses of the sessions, by id.
    pub sessions: Vec<(i32, SocketAddr)>,
    /// Number of known tokens.
    pub tokens: usize,
    /// Number of held tokens.
    pub held: usize,
    /// Number of REQUESTs that wait.
    pub waiting: usize,
    /// Number of bytes that tokens and sessions use, of the limit `--max-memory`.
    pub memory_bytes: usize,
    /// Memory of messages in parts that are under way, in bytes.
    pub parts_bytes: usize,
}

impl Snapshot {
    /// Returns the round of [`seq`](Self::seq), with the bits that state whether the configuration is proven.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the lower 32 bits are meant"
    )]
    pub const fn round(&self) -> u32 {
        self.seq as u32
    }
}

impl Server {
    /// Returns a summary. It costs less than a [`snapshot`](Self::snapshot).
    pub fn summary(&self) -> ServerSummary {
        ServerSummary {
            role: self.role.kind(),
            leader: self.leader(),
            state: self.own_state,
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> &Counters {
        &self.out.counters
    }
}

/// A server's data about a token.
#[derive(Debug, Clone, Copy)]
pub struct TokenStatus<'a> {
    /// Name of the token.
    pub name: &'a [u8],
    /// Data of the token.
    pub data: &'a [u8],
    /// The access to the token: 0 means free, 1 means shared, and -1 means exclusive.
    pub access: i32,
    token: &'a Token,
}

impl TokenStatus<'_> {
    /// Returns the sessions that hold the token.
    pub fn holders(&self) -> impl Iterator<Item = i32> {
        self.token.holders()
    }
}

impl Server {
    /// Returns all known tokens in the order of their names, including tokens that the server does not serve.
    pub fn tokens(&self) -> impl Iterator<Item = TokenStatus<'_>> {
        let tokens = self.tokens.iter_after(b"");
        tokens.map(|(_, token)| TokenStatus {
            name: token.name(),
            data: token.data(),
            access: token.access(),
            token,
        })
    }
}
