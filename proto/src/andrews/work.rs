//! Jobs of a node at the database, and their outcomes (`docs/board.md`, section 7). Every job is one transaction.

use super::Request;

/// A job for the database. The node waits for at most two at a time, and one of them is [`Work::Serve`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The job's id, which the caller returns with the outcome.
    pub id: u64,
    /// The transaction.
    pub work: Work,
}

/// The transaction of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Creates missing tables, inserts missing rows of the list, and updates the address in this node's row.
    Prepare {
        /// Whether to empty the topology: no successors, no coordinator, term + 1.
        drop: bool,
    },
    /// Reads all members, the coordinator's row and token.sequence, in one snapshot.
    ReadRing,
    /// Changes the topology.
    Write(Write),
    /// Uses the token. The guard comes first, even if all requests only read: `UPDATE token SET sequence = :s, holder =
    /// :self WHERE sequence < :s OR (sequence = :s AND holder = :self)`. Then come the requests, in order.
    Serve {
        /// The token's sequence.
        sequence: u64,
        /// At most 64 requests.
        requests: Vec<Request>,
        /// Whether to read new posts for the clients that listen.
        feed: bool,
    },
}

/// The coordinator's row as it was read. A compare-and-swap names it as the expected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoordinatorRow {
    /// The coordinator.
    pub id: Option<u32>,
    /// The version of the row.
    pub term: u64,
}

/// A change of the topology with its guard. If the guard matches no row, nothing is written: [`Outcome::Refused`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Founds a ring, if the row is still `seen` and there is no member. Sets the row to (this node, `term`, `acting`), this
    /// node's successor to itself, and the token to (`term` × 2^32, this node).
    Found {
        /// The row as read.
        seen: CoordinatorRow,
        /// The new term.
        term: u64,
        /// Whether the new coordinator is an acting one.
        acting: bool,
    },
    /// If the row is still `seen`: it is (this node, seen term + 1, acting), and the change is made.
    Claim {
        /// The row as read.
        seen: CoordinatorRow,
        /// The change that made the claim necessary. If it cannot be made, nothing is written.
        change: Option<Change>,
    },
    /// If the row is still `seen`: it is (this node, seen term + 1, not acting).
    Elected {
        /// The row as read.
        seen: CoordinatorRow,
    },
    /// If the row is (this node, `term`): beat + 1, and the change.
    Change {
        /// The term of this coordinator.
        term: u64,
        /// The change of the ring. If it cannot be made, nothing is written.
        change: Change,
    },
    /// Writes this node's row unchanged, to show whether the database can be written.
    Test,
    /// If the row is (this node, `term`): beat + 1.
    Beat {
        /// The term of this coordinator.
        term: u64,
    },
    /// If the row is (this node, `term`): its term is `new`, and the token is (`new` × 2^32, this node).
    Token {
        /// The present term of this coordinator.
        term: u64,
        /// The new one.
        new: u64,
    },
}

/// A change of the ring. Successors are unique, so a successor is removed before another row may name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// If `after` → `before` still holds and `node` has no successor: `node` → `before` and `after` → `node`.
    Insert {
        /// The node that joins.
        node: u32,
        /// Its predecessor after the change.
        after: u32,
        /// Its successor after the change.
        before: u32,
    },
    /// If `after` → `node` still holds: `after` → the successor of `node`, and `node` has no successor.
    Remove {
        /// The node that has failed.
        node: u32,
        /// Its predecessor.
        after: u32,
    },
}

/// The outcome of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The transaction was committed.
    Done,
    /// The rows of a look.
    Rows(Rows),
    /// The guard, or a row that the change depends on, matched no row. The transaction was rolled back.
    Refused,
    /// The transaction failed, and nothing was written.
    Failed,
    /// The transaction failed, and it is unknown whether it was committed.
    Unknown,
}

/// The rows of a look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows {
    /// Every node that has a row.
    pub nodes: Vec<u32>,
    /// Every node that has a successor, with that successor.
    pub members: Vec<(u32, u32)>,
    /// The coordinator and its term.
    pub seat: CoordinatorRow,
    /// Whether the coordinator is an acting one.
    pub acting: bool,
    /// A counter that grows while the coordinator is alive.
    pub beat: u64,
    /// The largest sequence with which the token was used.
    pub sequence: u64,
}
