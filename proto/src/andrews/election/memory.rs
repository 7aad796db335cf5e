//! What was sent on lately. It belongs to the node: results of two methods would otherwise chase each other for ever, by
//! resetting it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::throttle::Throttle;
use crate::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Memory {
    /// COORDINATOR of either ring method, by id.
    pub(super) results: Sent,
    /// CHANG_ROBERTS ELECTION, by candidate.
    pub(super) candidates: Sent,
    /// Starts of BULLY.
    pub(super) bully: Throttle,
}

/// When each id was sent last. It has ids of the list only.
#[derive(Debug, Default)]
pub(super) struct Sent {
    at: BTreeMap<u32, Instant>,
}

impl Sent {
    /// Whether an id was not sent within the last `period`; it counts as sent then.
    pub(super) fn note(&mut self, id: u32, now: Instant, period: Duration) -> bool {
        let is_new = self.at.get(&id).is_none_or(|&at| now.since(at) >= period);
        if is_new {
            self.at.retain(|_, at| now.since(*at) < period);
            self.at.insert(id, now);
        }
        is_new
    }

    /// An id was sent, whether or not it was before.
    pub(super) fn force(&mut self, id: u32, now: Instant) {
        self.at.insert(id, now);
    }
}
