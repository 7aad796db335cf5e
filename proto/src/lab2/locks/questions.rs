//! The questions of this node about one table (`docs/reference/lab2/locks.md`, I45 and I47).

use std::hash::Hash;
use std::time::Duration;

use super::record::Key;
use crate::lab2::machine::Writer;
use crate::throttle::Throttle;
use crate::time::Instant;

/// The last question about one table.
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Questions {
    limit: Throttle,
    /// The first key of the last question.
    from: Key,
}

impl Questions {
    /// Returns the time of the last question.
    pub(super) const fn last(&self) -> Option<Instant> {
        self.limit.last()
    }

    /// Returns whether this node may ask for the whole table now. A question that it may ask counts as sent.
    #[must_use = "an allowed question counts as sent"]
    pub(super) fn try_start(&mut self, now: Instant, period: Duration) -> bool {
        let is_allowed = self.limit.try_take(now, period);
        if is_allowed {
            self.from = 0;
        }
        is_allowed
    }

    /// Returns whether this node should ask for the keys from `next` on. It has just received a part with the keys
    /// before `next`. A question that it should ask counts as sent. A second copy of a part causes no second question.
    /// Otherwise each copy would cause a question for each later part, and the copies of their answers would cause even
    /// more.
    #[must_use = "an allowed question counts as sent"]
    pub(super) fn try_continue(&mut self, now: Instant, next: Key) -> bool {
        let is_next = next > self.from;
        if is_next {
            self.from = next;
            self.limit.record(now);
        }
        is_next
    }

    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self { limit, from } = self;
        let last = limit.last().map(|at| writer.now.since(at));
        (last, from).hash(writer);
    }
}
