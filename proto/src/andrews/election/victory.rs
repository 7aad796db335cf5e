//! An election that this node won (`docs/board/protocol/elections.md`, rules E).

use crate::time::Instant;

/// If the row changes before the node writes a victory, the node repeats the write at most this many times.
const REFUSALS_MAX: u32 = 3;

/// A victory that the node still has to write to the database.
#[derive(Debug)]
pub(crate) struct Victory {
    refusals: u32,
    /// The time of the next attempt to write the result of the election.
    due: Instant,
}

impl Victory {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            refusals: 0,
            due: now,
        }
    }

    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    pub(crate) const fn on_refused(&mut self, now: Instant) {
        self.refusals += 1;
        // No pause is needed: the next write waits for a look at the changed row anyway.
        self.due = now;
    }

    pub(crate) const fn on_written(&mut self, retry_at: Instant) {
        // The database may not answer, and the victory must still be written.
        self.due = retry_at;
    }

    /// Whether the node gives up its victory, because the row changed too often or names a larger node.
    pub(crate) const fn is_abandoned(&self, is_outranked: bool) -> bool {
        // A larger node in the row has also won an election. If this node overwrote the row, the larger node would
        // start another election.
        self.refusals > REFUSALS_MAX || self.refusals > 0 && is_outranked
    }
}
