//! What a node has done at the database (`docs/board.md`, section 7). Every job is one transaction.

use super::Request;

/// Work at the database. At most two are waited for at a time, one of them [`Work::Serve`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// To be handed back with the outcome.
    pub id: u64,
    /// What is to be done.
    pub work: Work,
}

/// What a job does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Creates what is absent, inserts the list's absent rows, brings the own row's address up to date.
    Prepare {
        /// Empties the topology: all successors and the coordinator none, term + 1.
        drop: bool,
    },
    /// Reads all members, the coordinator's row and token.sequence, in one snapshot.
    Look,
    /// Changes the topology.
    Write(Write),
    /// Uses the token: first the guard `UPDATE token SET sequence = :s, holder = :self WHERE sequence < :s OR (sequence =
    /// :s AND holder = :self)`, also where only reading follows; then the requests in order.
    Serve {
        /// The token's.
        sequence: u64,
        /// At most 64.
        requests: Vec<Request>,
        /// Whether new posts are read for those who listen.
        feed: bool,
    },
}

/// The coordinator's row as it was read: what a compare-and-swap is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seat {
    /// Who is coordinator.
    pub id: Option<u32>,
    /// The version of the row.
    pub term: u64,
}

/// A change of the topology, each with its guard. Where no row is hit nothing is written: [`Outcome::Refused`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// If the row is still `seen` and there is no member: the row is (this node, `term`, `acting`), this node is its own
    /// successor, and the token is (`term` × 2^32, this node).
    Found {
        /// The row as read.
        seen: Seat,
        /// The new term.
        term: u64,
        /// What the row says of it.
        acting: bool,
    },
    /// If the row is still `seen`: it is (this node, seen term + 1, acting), and the change is made.
    Claim {
        /// The row as read.
        seen: Seat,
        /// What made the claim necessary. If it cannot be made, nothing is.
        change: Option<Change>,
    },
    /// If the row is still `seen`: it is (this node, seen term + 1, not acting).
    Elected {
        /// The row as read.
        seen: Seat,
    },
    /// If the row is (this node, `term`): beat + 1, and the change.
    Change {
        /// The own term.
        term: u64,
        /// What is changed. If it cannot be, nothing is.
        change: Change,
    },
    /// The own row, as it is: shows whether the database can be written.
    Try,
    /// If the row is (this node, `term`): beat + 1.
    Beat {
        /// The own term.
        term: u64,
    },
    /// If the row is (this node, `term`): its term is `new`, and the token is (`new` × 2^32, this node).
    Token {
        /// The own term.
        term: u64,
        /// The new one.
        new: u64,
    },
}

/// A change of the ring. Successors are unique: none is written first, then the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// If `after` → `before` still and `node` has no successor: `node` → `before` and `after` → `node`.
    Insert {
        /// Who joins.
        node: u32,
        /// The predecessor-to-be.
        after: u32,
        /// Its successor.
        before: u32,
    },
    /// If `after` → `node` still: `after` → the successor that `node` has, and `node` has none.
    Remove {
        /// Who has failed.
        node: u32,
        /// Its predecessor.
        after: u32,
    },
}

/// What has come of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was committed.
    Done,
    /// What a look has read.
    Rows(Rows),
    /// The guard, or what the change depends on, hit no row: rolled back.
    Refused,
    /// An error: nothing was written.
    Failed,
    /// An error from which does not follow whether it was committed.
    Unknown,
}

/// The rows of a look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows {
    /// Every node that has a row.
    pub nodes: Vec<u32>,
    /// Every node with a successor, and that.
    pub members: Vec<(u32, u32)>,
    /// Who is coordinator, and the row's version.
    pub seat: Seat,
    /// Whether the coordinator is an acting one.
    pub acting: bool,
    /// Grows as long as the coordinator lives.
    pub beat: u64,
    /// The largest sequence with which the token was used.
    pub sequence: u64,
}
