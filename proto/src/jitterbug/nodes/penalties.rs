//! Penalties of candidates (`docs/jitterbug.md`, section 5, "Candidates and penalties").

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::penalty::Penalty;
use crate::throttle::Throttle;
use crate::time::Instant;

/// The maximum threshold, with which 1,023 turns are skipped.
const THRESHOLD_MAX: u16 = 10;

/// The penalties of candidates that have failed. All others have (0, 0).
#[derive(Debug, Default)]
pub(crate) struct Penalties {
    records: BTreeMap<IpAddr, Record>,
}

#[derive(Debug, Default)]
struct Record {
    penalty: Penalty,
    heard: Throttle,
}

impl Penalties {
    /// Returns the threshold and the count of an address.
    pub(crate) fn get(&self, address: IpAddr) -> (u32, u32) {
        let Some(Record { penalty, .. }) = self.records.get(&address) else {
            return (0, 0);
        };
        let threshold = penalty.failures();
        // Skips double with each failure, so a dead node costs the ring little, and a live one returns soon.
        let full = (1_u32 << threshold.min(THRESHOLD_MAX.into())) - 1;
        (threshold, full.saturating_sub(penalty.skips()))
    }

    /// Decides whether a candidate is skipped in this turn. If so, its penalty is shorter by one turn.
    pub(crate) fn take_skip(&mut self, address: IpAddr) -> bool {
        let record = self.records.get_mut(&address);
        record.is_some_and(|it| it.penalty.take_skip())
    }

    pub(crate) fn note_done(&mut self, address: IpAddr) {
        if let Some(record) = self.records.get_mut(&address) {
            record.penalty.forget_one_failure();
        }
    }

    /// Notes a failed pass, an unknown outcome, or a question for a sign of life. Returns the number of failures.
    pub(crate) fn note_failed(&mut self, address: IpAddr) -> u32 {
        let record = self.records.entry(address).or_default();
        record.penalty.on_failure_up_to(THRESHOLD_MAX);
        record.penalty.failures()
    }

    pub(crate) fn forget(&mut self, address: IpAddr) {
        self.records.remove(&address);
    }

    /// Notes a TR1, after which the candidate is tried in the next turn. Only one TR1 per `period` has this effect,
    /// because a node may be reachable by UDP only.
    pub(crate) fn note_tr1(&mut self, address: IpAddr, now: Instant, period: Duration) {
        if let Some(record) = self.records.get_mut(&address)
            && record.penalty.skips() > 0
            && record.heard.try_take(now, period)
        {
            record.penalty.on_heard();
        }
    }

    /// Notes a token from this node, after which it is tried in the next turn.
    pub(crate) fn note_token(&mut self, address: IpAddr) {
        if let Some(record) = self.records.get_mut(&address) {
            record.penalty.on_heard();
        }
    }
}
