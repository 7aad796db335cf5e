//! Which candidates are skipped (`docs/jitterbug.md`, section 5, "Candidates and penalties").

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::penalty::Penalty;
use crate::throttle::Throttle;
use crate::time::Instant;

/// The most that a threshold can be: 1023 turns are skipped then.
const MAX_THRESHOLD: u16 = 10;

/// What the candidates that have failed once have failed since; those that are not in here have (0, 0).
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
    /// The threshold and the count of an address.
    pub(crate) fn of(&self, address: IpAddr) -> (u32, u32) {
        let Some(Record { penalty, .. }) = self.records.get(&address) else {
            return (0, 0);
        };
        let threshold = penalty.failures();
        let full = (1_u32 << threshold.min(MAX_THRESHOLD.into())) - 1;
        (threshold, full.saturating_sub(penalty.turns()))
    }

    /// Whether a candidate is skipped in this turn, which takes one turn off.
    pub(crate) fn skips(&mut self, address: IpAddr) -> bool {
        let record = self.records.get_mut(&address);
        record.is_some_and(|it| it.penalty.pass_over())
    }

    /// A pass to it is done.
    pub(crate) fn done(&mut self, address: IpAddr) {
        if let Some(record) = self.records.get_mut(&address) {
            record.penalty.recover();
        }
    }

    /// A pass to it has failed, or its outcome is unknown; or it is asked for a sign of life. Returns how often.
    pub(crate) fn failed(&mut self, address: IpAddr) -> u32 {
        let record = self.records.entry(address).or_default();
        record.penalty.fail_up_to(MAX_THRESHOLD);
        record.penalty.failures()
    }

    /// It is in no list any more.
    pub(crate) fn forget(&mut self, address: IpAddr) {
        self.records.remove(&address);
    }

    /// Its TR1 was heard: it is tried at its next turn, but a TR1 can say so only once a `period`.
    pub(crate) fn heard(&mut self, address: IpAddr, now: Instant, period: Duration) {
        if let Some(record) = self.records.get_mut(&address)
            && record.penalty.turns() > 0
            && record.heard.allow(now, period)
        {
            record.penalty.heard();
        }
    }

    /// A token came from it: it is tried at its next turn.
    pub(crate) fn gave(&mut self, address: IpAddr) {
        if let Some(record) = self.records.get_mut(&address) {
            record.penalty.heard();
        }
    }
}
