//! Jobs of a node at the database, and their outcomes (`docs/board/protocol/database.md`, rules D). Every job is one
//! transaction.

use super::Request;

/// A job for the database. A node waits for the outcomes of at most two jobs at a time. At most one job is a
/// [`Work::Serve`], and at most one job is of a different kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The job's id. The caller returns it with the outcome.
    pub id: u64,
    /// The transaction.
    pub work: Work,
}

/// The transaction of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Creates missing tables, inserts missing rows of the list, and updates the address in this node's row.
    Prepare {
        /// Whether to empty the topology: all successors and the coordinator are removed, and the term grows by 1.
        drop: bool,
    },
    /// Reads all members, the coordinator's row and token.sequence, all from one snapshot.
    ReadRing,
    /// Changes the topology.
    Write(Write),
    /// Uses the token. The job begins with the write of its guard, even if no request writes a post: `UPDATE token SET
    /// sequence = :s, holder = :self WHERE sequence < :s OR (sequence = :s AND holder = :self)`. The requests follow in
    /// order.
    Serve {
        /// The token's sequence.
        sequence: u64,
        /// At most 64 requests.
        requests: Vec<Request>,
        /// Whether to read new posts for the clients that listen.
        feed: bool,
    },
}

/// The coordinator's row from a look. A job changes the row only if the row still has this value (compare-and-swap).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoordinatorRow {
    /// The coordinator.
    pub id: Option<u32>,
    /// The version of the row.
    pub term: u64,
}

/// A change of the topology with its guard. If the guard matches no row, the job writes nothing and is
/// [refused](Outcome::Refused).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Founds a ring, if the row is still `seen` and no node is a member. The row becomes (this node, `term`,
    /// `acting`), and the token becomes (`term` × 2^32, this node). The founder becomes its own successor.
    Found {
        /// The row as read.
        seen: CoordinatorRow,
        /// The new term.
        term: u64,
        /// Whether the new coordinator is an acting coordinator, not an elected coordinator.
        acting: bool,
    },
    /// Claims the coordinator's place: if the row is still `seen`, sets the row to (this node, seen term + 1, acting),
    /// and makes the change.
    Claim {
        /// The row as read.
        seen: CoordinatorRow,
        /// A change that only a coordinator may make. If the job cannot make this change, the job writes nothing.
        change: Option<Change>,
    },
    /// Records the result of an election: if the row is still `seen`, sets the row to (this node, seen term + 1, not
    /// acting).
    Elected {
        /// The row as read.
        seen: CoordinatorRow,
    },
    /// If the row is (this node, `term`), adds 1 to the beat and makes the change.
    Change {
        /// The term in which this node is coordinator.
        term: u64,
        /// The change of the ring. If the change cannot be made, the job writes nothing.
        change: Change,
    },
    /// Writes this node's row unchanged, to find out whether the database accepts writes.
    Test,
    /// If the row is (this node, `term`), adds 1 to the beat.
    Beat {
        /// The term of this coordinator.
        term: u64,
    },
    /// If the row is (this node, `term`), sets its term to `new`, and the token to (`new` × 2^32, this node).
    Token {
        /// The coordinator's term before the write.
        term: u64,
        /// The coordinator's term after the write.
        new: u64,
    },
}

/// A change of the ring. Two rows must never name the same successor. So a row gives up its successor before a second
/// row names the same successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// If `after` → `before` still holds and `node` has no successor, inserts `node` between these two nodes.
    Insert {
        /// The node that joins.
        node: u32,
        /// The predecessor of the node after the change.
        after: u32,
        /// The successor of the node after the change.
        before: u32,
    },
    /// If `after` → `node` still holds, the successor of `node` becomes the successor of `after`. After this change,
    /// `node` has no successor.
    Remove {
        /// The failed node.
        node: u32,
        /// The predecessor of the failed node.
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
    /// The guard matched no row, or a row that the change depends on changed or is gone. The transaction was rolled
    /// back.
    Refused,
    /// The transaction failed, and nothing was written.
    Failed,
    /// The transaction failed, and the node does not know whether it was committed.
    Unknown,
}

/// The rows of a look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows {
    /// Every node that has a row.
    pub nodes: Vec<u32>,
    /// Every node with a successor, and this successor.
    pub members: Vec<(u32, u32)>,
    /// The coordinator and its term.
    pub seat: CoordinatorRow,
    /// Whether the coordinator is an acting coordinator, not an elected coordinator.
    pub acting: bool,
    /// A counter that grows while the coordinator is alive.
    pub beat: u64,
    /// The largest sequence with which the token was used.
    pub sequence: u64,
}
