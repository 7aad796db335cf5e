//! Penalties of candidates (`docs/jitterbug/protocol/leader.md` K3 to K6).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::penalty::Penalty;
use crate::throttle::Throttle;
use crate::time::Instant;

/// The maximum threshold. A candidate with this threshold is skipped in 1,023 turns.
const THRESHOLD_MAX: u16 = 10;

/// The penalties of candidates that have failed. Every other candidate has the threshold 0 and the count 0.
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
        // The number of skips doubles with each failure. So a dead node costs the ring little time, and a live node is
        // soon tried again.
        let full = (1_u32 << threshold.min(THRESHOLD_MAX.into())) - 1;
        (threshold, full.saturating_sub(penalty.skips()))
    }

    /// Decides whether a candidate is skipped in this turn. If the leader skips the candidate, this turn counts as one
    /// of the turns of the penalty.
    pub(crate) fn take_skip(&mut self, address: IpAddr) -> bool {
        let record = self.records.get_mut(&address);
        record.is_some_and(|it| it.penalty.take_skip())
    }

    pub(crate) fn note_done(&mut self, address: IpAddr) {
        if let Some(record) = self.records.get_mut(&address) {
            record.penalty.forget_one_failure();
        }
    }

    /// Notes a failure of a candidate: a failed pass, a pass with an unknown outcome, or a question for a sign of life.
    /// Returns the number of failures.
    pub(crate) fn note_failed(&mut self, address: IpAddr) -> u32 {
        let record = self.records.entry(address).or_default();
        record.penalty.on_failure_up_to(THRESHOLD_MAX);
        record.penalty.failures()
    }

    pub(crate) fn forget(&mut self, address: IpAddr) {
        self.records.remove(&address);
    }

    /// Notes a TR1. After a TR1, the leader does not skip the node in the next turn. At most one TR1 per `period` has
    /// this effect, because TCP may not reach a node that sends TR1.
    pub(crate) fn note_tr1(&mut self, address: IpAddr, now: Instant, period: Duration) {
        if let Some(record) = self.records.get_mut(&address)
            // A TR1 without an effect must not use up the period.
            && record.penalty.skips() > 0
            && record.heard.try_take(now, period)
        {
            record.penalty.on_heard();
        }
    }

    /// Notes a token from a node. The leader does not skip the sender in the next turn.
    pub(crate) fn note_token(&mut self, address: IpAddr) {
        // A token shows that connections work too, so this needs no limit.
        if let Some(record) = self.records.get_mut(&address) {
            record.penalty.on_heard();
        }
    }
}
