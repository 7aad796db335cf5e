//! What a server shows of itself (`docs/ftn.md`, section 9).

use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::ServerState;

use super::Server;
use crate::ftn::server::tokens::Token;
use crate::ftn::server::{Counters, RoleKind, Standing};

/// What `ringctl status` shows of a server, but for the names of the servers and the counters
/// ([`Server::counters`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The server's index.
    pub index: usize,
    /// The state of every server, as the configuration has it; all DOWN while none is known.
    pub states: Vec<ServerState>,
    /// The signature of the list.
    pub ssig: i32,
    /// Electing, follower or leader.
    pub role: RoleKind,
    /// The state that the server says to be in.
    pub state: ServerState,
    /// Who leads; `None` while it is electing.
    pub leader: Option<usize>,
    /// The configuration's number, 0 while none is known.
    pub configuration: u64,
    /// The seq of the latest STATE sent or followed, 0 if there was none.
    pub seq: i128,
    /// Whether it may serve and change: a leader with its quorum, a follower that has had STATE within ¾ ST.
    pub authority: bool,
    /// What is left of the time in which a cold leader adopts sessions.
    pub grace: Duration,
    /// The sessions whose answers a survey waits for; `None` if there is no survey.
    pub survey: Option<Vec<i32>>,
    /// The sessions with their addresses, by id.
    pub sessions: Vec<(i32, SocketAddr)>,
    /// Tokens known.
    pub tokens: usize,
    /// Those of them that are held.
    pub held: usize,
    /// REQUESTs that wait.
    pub waiting: usize,
    /// What tokens and sessions take of `--max-memory`, in bytes.
    pub memory_bytes: usize,
    /// What messages in parts take that are under way, in bytes.
    pub parts_bytes: usize,
}

impl Snapshot {
    /// The round that [`seq`](Self::seq) counts, with the bits that say whether the configuration is proven.
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
    /// What it is, in a few words: cheaper than a [`snapshot`](Self::snapshot).
    pub fn standing(&self) -> Standing {
        Standing {
            role: self.role.kind(),
            leader: self.leader(),
            state: self.own,
        }
    }

    /// What is counted.
    pub fn counters(&self) -> &Counters {
        &self.out.counters
    }
}

/// What a server knows of a token.
#[derive(Debug, Clone, Copy)]
pub struct TokenStatus<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its data.
    pub data: &'a [u8],
    /// How it is held: 0 not at all, 1 shared, -1 exclusively.
    pub access: i32,
    token: &'a Token,
}

impl TokenStatus<'_> {
    /// The sessions that hold it.
    pub fn holders(&self) -> impl Iterator<Item = i32> {
        self.token.holding()
    }
}

impl Server {
    /// All tokens that it knows, in order of their names, whether it serves them or not.
    pub fn tokens(&self) -> impl Iterator<Item = TokenStatus<'_>> {
        let tokens = self.tokens.after(b"");
        tokens.map(|(_, token)| TokenStatus {
            name: token.name(),
            data: token.data(),
            access: token.access(),
            token,
        })
    }
}
