//! The outputs that one input causes, and counters of the node's events.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ring_proto::jitterbug::{Acceptance, Counters, Event, Reason};

#[derive(Debug, Default)]
pub(super) struct Outputs {
    pub events: Vec<Event>,
    /// The destinations of the sent datagrams.
    pub sent: Vec<IpAddr>,
    /// The number of inbound connections that the node has reset.
    pub reset: u64,
    /// The absolute ids of the tokens that the node has acknowledged.
    pub acknowledged: Vec<u32>,
}

impl Outputs {
    pub(super) fn has(&self, is: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(is)
    }
}

/// Counts by counter name.
#[derive(Default)]
pub(super) struct EventCounts {
    counts: BTreeMap<&'static str, u64>,
    dropped: BTreeMap<Reason, u64>,
}

impl EventCounts {
    pub(super) fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    pub(super) fn on_event(&mut self, event: &Event) {
        let name = match event {
            Event::RestoreBegan => "restores",
            Event::RestoreWon => "restores_won",
            Event::Accepted { how, .. } => match how {
                Acceptance::Taken => "taken",
                Acceptance::Merged => "merged",
                Acceptance::Absorbed => "absorbed",
            },
            Event::Passed { .. } => "passes_done",
            Event::PassFailed { .. } => "passes_failed",
            Event::PassUnknown { .. } => "passes_unknown",
            Event::PassAborted { .. } => "passes_aborted",
            Event::Stalled { .. } => "stalls",
            Event::ComputeFailed => "compute_failures",
            Event::DecideFailed | Event::DataDropped => "decide_failures",
            Event::NodeRefused { .. } => "nodes_refused",
            Event::Dropped { reason, .. } => {
                *self.dropped.entry(*reason).or_default() += 1;
                return;
            }
            _ => return,
        };
        self.count(name);
    }

    /// Checks the node's counters.
    pub(super) fn check(&self, counters: &Counters) {
        const OTHERS: [&str; 5] = [
            "tr1_received",
            "tr2_received",
            "announcements",
            "computes",
            "decisions",
        ];
        for (name, count) in counters.plain() {
            let seen = self.counts.get(name).copied().unwrap_or_default();
            assert!(
                OTHERS.contains(&name) || seen == count,
                "the counter {name} is {count}, but the test counted {seen}"
            );
        }
        for reason in Reason::ALL {
            let seen = self.dropped.get(&reason).copied().unwrap_or_default();
            assert_eq!(counters.drop_count(reason), seen, "{}", reason.key());
        }
    }
}

pub(super) fn received_datagrams(counters: &Counters) -> u64 {
    counters.tr1_received + counters.tr2_received
}
