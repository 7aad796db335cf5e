//! The status of a node (`docs/board/status.md`).

use super::Andrews;
use crate::andrews::database::View;
use crate::andrews::ring::{Peer, RepeatedRequest};
use crate::andrews::{Counters, ElectionStatus, Neighbor, NodeSummary, Snapshot, TokenStatus};
use crate::time::Instant;

impl Andrews {
    /// Returns a short status. It costs less than a [`snapshot`](Self::snapshot).
    pub fn summary(&self) -> NodeSummary {
        NodeSummary {
            state: self.role.state(),
            coordinator: self.view.as_ref().and_then(|view| view.seat().id),
            is_coordinator: self.duties.is_some(),
            may_use: self.may_use_token(),
        }
    }

    /// Returns the values that `GET /ring` shows.
    pub fn snapshot(&self) -> Snapshot {
        let view = self.view.as_ref();
        let ago = |at: Option<Instant>| at.map(|at| self.now.since(at));
        Snapshot {
            id: self.options.id,
            state: self.role.state(),
            coordinator: view.and_then(|view| view.seat().id),
            acting: view.is_some_and(View::acting),
            term: view.map_or(0, |view| view.seat().term),
            members: view.map_or_else(Vec::new, View::in_order),
            successor: self.role.successor().map(Peer::id),
            predecessor: self.inbound.predecessor().map(Peer::id),
            token: TokenStatus {
                held: self.token.held_sequence().is_some(),
                sequence: self.token.highest(),
                seen: ago(self.token.last_seen(self.now)),
                here: ago(self.token.last_here(self.now)),
            },
            election: ElectionStatus {
                method: self.elections.method(),
                ongoing: self.elections.is_ongoing(),
                started: self.out.counters.elections_started,
                won: self.out.counters.elections_won,
            },
            database: self.database.state(),
            waiting: self.requests.len(),
            unknown_rows: self.unlisted.rows(),
            unknown_senders: self.unlisted.senders(self.now, self.options.alone_timeout),
            unanswered: view.and_then(|view| view.seat().id).filter(|_| {
                self.role
                    .repeated_request()
                    .is_some_and(RepeatedRequest::is_unanswered)
            }),
        }
    }

    /// Returns the successor and the predecessor, each if its connection is up.
    pub fn neighbors(&self) -> [Option<Neighbor>; 2] {
        let neighbor = |peer: &Peer| Neighbor {
            id: peer.id(),
            stream: peer.stream(),
        };
        [self.role.successor(), self.inbound.predecessor()].map(|peer| peer.map(neighbor))
    }

    /// Returns the counters.
    pub const fn counters(&self) -> &Counters {
        &self.out.counters
    }
}
