//! Messages that were sent recently. The memory belongs to the node and not to a handler. If a handler owned the
//! memory, the results of two methods would replace each other's handlers, and each replacement would lose the memory.
//! Then both results would circulate indefinitely.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::throttle::Throttle;
use crate::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The COORDINATOR messages of both ring methods. The key is the coordinator's id.
    pub(super) results: SendTimes,
    /// ELECTION messages of CHANG_ROBERTS, by candidate.
    pub(super) candidates: SendTimes,
    pub(super) bully: Throttle,
}

/// For each id: the time at which the node last sent it. All of these ids are in the list of nodes.
#[derive(Debug, Default)]
pub(super) struct SendTimes {
    at: BTreeMap<u32, Instant>,
}

impl SendTimes {
    /// Notes that an id is sent, unless it was sent within the last `period`. Returns whether the id was noted.
    pub(super) fn record_if_due(&mut self, id: u32, now: Instant, period: Duration) -> bool {
        let is_new = self.at.get(&id).is_none_or(|&at| now.since(at) >= period);
        if is_new {
            self.at.retain(|_, at| now.since(*at) < period);
            self.at.insert(id, now);
        }
        is_new
    }

    /// Notes that the node sends an id, even if the node sent it recently.
    pub(super) fn record(&mut self, id: u32, now: Instant) {
        self.at.insert(id, now);
    }
}
