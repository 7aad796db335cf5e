//! An election that was won (`docs/board.md`, section 8).

use crate::time::Instant;

/// How often `elected` is tried again after the row has changed.
const REFUSALS_MAX: u32 = 3;

/// An election that was won and is not written.
#[derive(Debug)]
pub(crate) struct Victory {
    refusals: u32,
    /// When it is written, or written again.
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

    /// Whether it is not written any more.
    pub(crate) const fn is_void(&self, is_outranked: bool) -> bool {
        self.refusals > REFUSALS_MAX || self.refusals > 0 && is_outranked
    }
}
