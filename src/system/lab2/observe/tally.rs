//! Counts every event, in fixed arrays.

use std::collections::BTreeMap;
use std::time::Duration;

use ring_codec::lab2::Kind;
use ring_control::lab2::{BusyPollCounters, Counters};
use ring_host::observe::Latency;
use ring_proto::lab2::{Event, State};
use ring_proto::time::{Now, nanos};
use ring_runtime::BusyPollWork;
use ring_runtime::driver::Observe;

use super::describe::{RingState, describe};
use super::text::{DROP_REASONS, REASONS, drop_reason, reason};

/// The key in `dropped` for frames that the kernel dropped because its queue was full.
const KERNEL_QUEUE_FULL: &str = "kernel_queue_full";

/// The counters since the start.
#[derive(Debug)]
pub struct Tally {
    pub(super) received: [u64; Kind::ALL.len()],
    pub(super) sent: [u64; Kind::ALL.len()],
    pub(super) send_failed: [u64; Kind::ALL.len()],
    pub(super) dropped: [u64; DROP_REASONS.len()],
    pub(super) state_changes: [[u64; State::ALL.len()]; State::ALL.len()],
    pub(super) reasons: [u64; REASONS.len()],
    pub(super) hand_overs: u64,
    pub(super) hand_overs_failed: u64,
    pub(super) table_full: u64,
    late_wake_ups: u64,
    longest_lateness: Duration,
    /// The work of polling; `None` if the daemon does not poll.
    busy_poll: Option<BusyPollWork>,
    pub(super) latency: Latency,
}

impl Tally {
    /// Creates counters that are 0. Counting later allocates no memory.
    pub fn new() -> Self {
        Self {
            received: [0; Kind::ALL.len()],
            sent: [0; Kind::ALL.len()],
            send_failed: [0; Kind::ALL.len()],
            dropped: [0; DROP_REASONS.len()],
            state_changes: [[0; State::ALL.len()]; State::ALL.len()],
            reasons: [0; REASONS.len()],
            hand_overs: 0,
            hand_overs_failed: 0,
            table_full: 0,
            late_wake_ups: 0,
            longest_lateness: Duration::ZERO,
            busy_poll: None,
            latency: Latency::new(),
        }
    }

    /// Counts a wake-up of the loop that was late by this time.
    pub fn count_late_wake_up(&mut self, late: Duration) {
        self.late_wake_ups += 1;
        self.longest_lateness = self.longest_lateness.max(late);
    }

    /// Returns the longest time by which a wake-up of the loop was late; 0 if no wake-up was late.
    #[must_use]
    pub const fn longest_lateness(&self) -> Duration {
        self.longest_lateness
    }

    /// Sets the work of polling since the start.
    pub const fn set_busy_poll(&mut self, work: BusyPollWork) {
        self.busy_poll = Some(work);
    }

    /// Returns the counters for the status, with `kernel_drops` frames that were lost before they were received.
    pub fn counters(&self, kernel_drops: u64) -> Counters {
        let drop_keys = DROP_REASONS.iter().map(|&why| drop_reason(why).0);
        let mut dropped = zip_counts(drop_keys, &self.dropped);
        dropped.insert(KERNEL_QUEUE_FULL.to_owned(), kernel_drops);
        let kinds = || Kind::ALL.iter().map(|kind| kind.name());
        Counters {
            received: zip_counts(kinds(), &self.received),
            sent: zip_counts(kinds(), &self.sent),
            send_failed: zip_counts(kinds(), &self.send_failed),
            dropped,
            // The link counts these frames.
            unproven: BTreeMap::new(),
            state_changes: self.state_changes(),
            state_change_reasons: zip_counts(
                REASONS.iter().map(|&why| reason(why).0),
                &self.reasons,
            ),
            hand_overs: self.hand_overs,
            hand_overs_failed: self.hand_overs_failed,
            hand_over_latency: self.latency.percentiles(),
            table_full: self.table_full,
            late_wake_ups: self.late_wake_ups,
            busy_poll: self.busy_poll.map(|work| BusyPollCounters {
                time_ns: nanos(work.time),
                found: work.found,
                given_up: work.given_up,
            }),
        }
    }

    fn state_changes(&self) -> BTreeMap<String, u64> {
        let mut changes = BTreeMap::new();
        for from in State::ALL {
            for to in State::ALL.into_iter().filter(|&to| to != from) {
                let count = self.state_changes[from as usize][to as usize];
                changes.insert(format!("{}->{}", from.name(), to.name()), count);
            }
        }
        changes
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}

impl Observe<Event> for Tally {
    fn observe(&mut self, _now: Now, event: &Event) {
        let (before, failure_timeout) = (RingState::default(), Duration::ZERO);
        describe(event, &before, false, failure_timeout, |it| {
            (it.count)(self);
        });
    }
}

fn zip_counts<'a>(keys: impl Iterator<Item = &'a str>, counts: &[u64]) -> BTreeMap<String, u64> {
    keys.map(str::to_owned)
        .zip(counts.iter().copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::lab2::{DropReason, Event};
    use ring_proto::time::{Instant, Now};

    use super::Tally;
    use crate::system::lab2::observe::text::{DROP_REASONS, REASONS};
    use ring_codec::lab2::Kind;
    use ring_runtime::driver::Observe;

    fn tally(events: &[Event]) -> Tally {
        let now = Now {
            monotonic: Instant::from_nanos(0),
            wall: 0,
        };
        let mut tally = Tally::new();
        for event in events {
            tally.observe(now, event);
        }
        tally
    }

    #[test]
    fn every_key_exists_from_the_start() {
        let counters = tally(&[]).counters(0);
        for map in [&counters.received, &counters.sent, &counters.send_failed] {
            let names: Vec<_> = map.keys().map(String::as_str).collect();
            let mut kinds: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            kinds.sort_unstable();
            assert_eq!(names, kinds);
        }
        assert_eq!(counters.dropped.len(), DROP_REASONS.len() + 1);
        assert_eq!(counters.state_change_reasons.len(), REASONS.len());
        assert_eq!(counters.state_changes.len(), 12);
        assert_eq!(counters.dropped["kernel_queue_full"], 0);
    }

    #[test]
    fn the_documents_name_every_key() {
        let page = include_str!("../../../../docs/reference/status.md");
        let rules = include_str!("../../../../docs/reference/lab2/states.md");
        let counters = tally(&[]).counters(0);
        let shown = serde_json::to_value(&counters).unwrap();
        let keys = shown.as_object().unwrap().keys();
        for key in keys.chain(counters.state_change_reasons.keys()) {
            assert!(page.contains(&format!("`{key}`")), "{key}");
        }
        for reason in counters.dropped.keys() {
            let reason = format!("`{reason}`");
            assert!(
                page.contains(&reason) || rules.contains(&reason),
                "{reason}"
            );
        }
    }

    #[test]
    fn each_kind_and_reason_is_counted_under_its_own_key() {
        for kind in Kind::ALL {
            let events = [
                Event::Received { kind },
                Event::Received { kind },
                Event::Transmitted { kind },
                Event::TransmitFailed { kind },
            ];
            let counters = tally(&events).counters(0);
            assert_eq!(counters.received[kind.name()], 2);
            assert_eq!(counters.received.values().sum::<u64>(), 2);
            assert_eq!(counters.sent[kind.name()], 1);
            assert_eq!(counters.send_failed[kind.name()], 1);
        }
        let dropped = Event::Dropped {
            reason: DropReason::StaleOffer,
        };
        let mut tally = tally(&[dropped]);
        for late in [7, 9, 8] {
            tally.count_late_wake_up(Duration::from_millis(late));
        }
        assert_eq!(tally.longest_lateness(), Duration::from_millis(9));
        let counters = tally.counters(5);
        assert_eq!(counters.dropped["stale_offer"], 1);
        assert_eq!(counters.dropped["kernel_queue_full"], 5);
        assert_eq!(counters.dropped.values().sum::<u64>(), 6);
        assert_eq!(counters.late_wake_ups, 3);
    }
}
