//! What a node shows of itself (`docs/board.md`, section 11).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::andrews::Method;

use super::link::Link;
use super::view::View;
use super::{Andrews, Counters, DatabaseState, State};
use crate::time::Instant;

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

/// What `GET /ring` shows, but for the counters ([`Andrews::counters`]).
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

impl Andrews {
    /// What it is, in a few words: cheaper than a [`snapshot`](Self::snapshot).
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing {
            state: self.role.state(),
            coordinator: self.view.as_ref().and_then(|view| view.seat.id),
            is_coordinator: self.office.is_some(),
            may_use: self.may_use_token(),
        }
    }

    /// What `GET /ring` shows.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let view = self.view.as_ref();
        let successor = match self.role.member().map(|member| &member.link) {
            Some(Link::Up(successor)) => Some(successor.to),
            _ => None,
        };
        let ago = |at: Option<Instant>| at.map(|at| self.now.since(at));
        Snapshot {
            id: self.options.id,
            state: self.role.state(),
            coordinator: view.and_then(|view| view.seat.id),
            acting: view.is_some_and(|view| view.acting),
            term: view.map_or(0, |view| view.seat.term),
            members: view.map_or_else(Vec::new, View::in_order),
            successor,
            predecessor: self.inbound.predecessor.as_ref().map(|it| it.id),
            token: TokenStatus {
                held: self.token.held().is_some(),
                sequence: self.token.highest,
                seen: ago(self.token.seen(self.now)),
                here: ago(self.token.here(self.now)),
            },
            election: ElectionStatus {
                method: self.elections.method(),
                ongoing: self.elections.is_ongoing(),
                started: self.out.counters.elections_started,
                won: self.out.counters.elections_won,
            },
            database: self.database.state,
            waiting: self.requests.len(),
            unknown_rows: self.strangers.rows(),
            unknown_senders: self.strangers.senders(self.now, self.options.alone_timeout),
            unanswered: view
                .and_then(|view| view.seat.id)
                .filter(|_| self.role.plea().is_some_and(|plea| plea.is_unanswered)),
        }
    }

    /// What is counted.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.out.counters
    }
}
