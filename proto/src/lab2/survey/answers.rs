//! The members that wait for this node's report. The number of reports per time is limited, even if a stranger asks
//! very often.

use std::time::Duration;

use ring_codec::MacAddr;

use crate::time::Instant;

/// Maximum number of members that wait for a report at the same time.
const ASKERS_MAX: usize = 8;
/// Minimum time between two reports of the host, and between two copies of the results of a measurement.
pub(super) const ANSWER_GAP: Duration = Duration::from_millis(50);

/// A member that waits for the report: its address, the serial of its survey, and whether this node refuses to measure.
type Asker = (MacAddr, u64, bool);

#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Answers {
    askers: Vec<Asker>,
    next: Instant,
}

impl Answers {
    /// Notes a question. A later question of the same member replaces its earlier question.
    pub(super) fn add(&mut self, asker: Asker) {
        self.askers.retain(|known| known.0 != asker.0);
        if self.askers.len() < ASKERS_MAX {
            self.askers.push(asker);
        }
    }

    pub(super) fn are_due(&self, now: Instant) -> bool {
        !self.askers.is_empty() && now >= self.next
    }

    /// Returns the members that get the report now.
    pub(super) fn take(&mut self, now: Instant) -> Vec<Asker> {
        self.next = now + ANSWER_GAP;
        std::mem::take(&mut self.askers)
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        (!self.askers.is_empty()).then_some(self.next)
    }
}
