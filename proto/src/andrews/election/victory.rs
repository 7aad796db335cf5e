//! An election that this node has won (`docs/board.md`, section 8).

use crate::time::Instant;

/// How often the node writes its victory again after the row has changed.
const REFUSALS_MAX: u32 = 3;

/// A victory that is not yet written to the database.
#[derive(Debug)]
pub(crate) struct Victory {
    refusals: u32,
    /// When the victory is written next.
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
        self.due = now;
    }

    pub(crate) const fn on_written(&mut self, retry_at: Instant) {
        self.due = retry_at;
    }

    /// Whether the victory is given up: the row has changed too often, or names a larger node.
    pub(crate) const fn is_abandoned(&self, is_outranked: bool) -> bool {
        // A larger node in the row has won an election of its own. A smaller one that overwrites it would only cause
        // another.
        self.refusals > REFUSALS_MAX || self.refusals > 0 && is_outranked
    }
}
