//! What a node shows of itself (`docs/board.md`, section 11).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::andrews::Method;

use crate::andrews::{DatabaseState, State};

/// What a node is, in a few words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Its state.
    pub state: State,
    /// Who is coordinator, as last read.
    pub coordinator: Option<u32>,
    /// Whether that is this node.
    pub is_coordinator: bool,
    /// Whether the table of posts may be used now.
    pub may_use: bool,
}

/// What `GET /ring` shows, but for the counters ([`Andrews::counters`](super::super::Andrews::counters)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// This node's id.
    pub id: u32,
    /// Its state.
    pub state: State,
    /// Who is coordinator, as last read.
    pub coordinator: Option<u32>,
    /// Whether it is an acting one.
    pub acting: bool,
    /// The version of the coordinator's row.
    pub term: u64,
    /// Ids in ring order, from the smallest.
    pub members: Vec<u32>,
    /// To whom a connection is up.
    pub successor: Option<u32>,
    /// Who has a connection to this node up.
    pub predecessor: Option<u32>,
    /// The token.
    pub token: TokenStatus,
    /// Elections.
    pub election: ElectionStatus,
    /// How the database is.
    pub database: DatabaseState,
    /// Requests that wait, or are being served.
    pub waiting: usize,
    /// Rows of the database whose nodes the list does not have.
    pub unknown_rows: Vec<u32>,
    /// Nodes that send from an address at which the list does not have them.
    pub unknown_senders: Vec<(u32, IpAddr)>,
    /// The coordinator, if it lives and answers no request of this node.
    pub unanswered: Option<u32>,
}

/// What is known of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenStatus {
    /// Whether it is here.
    pub held: bool,
    /// The highest sequence that was here.
    pub sequence: u64,
    /// How long ago it was seen; `None`: never.
    pub seen: Option<Duration>,
    /// How long ago it was here, or on its way from here; `None`: never.
    pub here: Option<Duration>,
}

/// What is known of elections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElectionStatus {
    /// The method of the handler in hand.
    pub method: Method,
    /// Whether one goes on that has no result.
    pub ongoing: bool,
    /// Elections started here.
    pub started: u64,
    /// Elections won.
    pub won: u64,
}
