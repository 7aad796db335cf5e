//! The probes between this node and one other member.

use std::time::Duration;

use ring_codec::lab2::{Measure, PROBES_MAX};
use ring_codec::{MacAddr, U32};

use crate::time::{Instant, nanos};

/// The numbers of the large probes: every fourth probe is large.
const LARGE: u64 = 0x8888_8888_8888_8888;

/// Whether the probe with this number is large.
pub(super) const fn is_large(number: u8) -> bool {
    LARGE >> number & 1 == 1
}

/// The probes between this node and one other member. Each mask has one bit for each number of a probe, so a duplicated
/// frame counts once.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct PeerCounts {
    mac: MacAddr,
    sent: u64,
    answered: u64,
    arrived: u64,
    broadcasts_arrived: u64,
    /// The time of each sent probe. A member that sends back a wrong time must not falsify the round-trip times.
    sent_at: Vec<Instant>,
    round_trips: RoundTrips,
}

impl PeerCounts {
    pub(super) fn new(mac: MacAddr) -> Self {
        Self {
            mac,
            sent: 0,
            answered: 0,
            arrived: 0,
            broadcasts_arrived: 0,
            sent_at: vec![Instant::default(); PROBES_MAX.into()],
            round_trips: RoundTrips::default(),
        }
    }

    pub(super) const fn mac(&self) -> MacAddr {
        self.mac
    }

    pub(super) fn note_sent(&mut self, number: u8, now: Instant) {
        if let Some(sent_at) = self.sent_at.get_mut(usize::from(number)) {
            *sent_at = now;
            self.sent |= 1 << number;
        }
    }

    pub(super) const fn note_arrival(&mut self, number: u8, broadcast: bool) {
        let mask = if broadcast {
            &mut self.broadcasts_arrived
        } else {
            &mut self.arrived
        };
        *mask |= 1 << number;
    }

    /// Counts an answer that arrived at the time `at`. An answer to a probe that this node did not send does not count.
    pub(super) fn note_answer(&mut self, number: u8, at: Instant) {
        let bit = 1 << number;
        let Some(&sent_at) = self.sent_at.get(usize::from(number)) else {
            return;
        };
        if self.sent & bit == 0 || self.answered & bit != 0 || at < sent_at {
            return;
        }
        self.answered |= bit;
        if !is_large(number) {
            self.round_trips.add(at.since(sent_at));
        }
    }

    pub(super) fn row(&self) -> Measure {
        let small = |mask: u64| count(mask & !LARGE);
        let large = |mask: u64| count(mask & LARGE);
        let times = &self.round_trips;
        Measure {
            peer: self.mac,
            sent: small(self.sent),
            answered: small(self.answered),
            arrived: small(self.arrived),
            large_sent: large(self.sent),
            large_answered: large(self.answered),
            large_arrived: large(self.arrived),
            broadcasts_arrived: count(self.broadcasts_arrived),
            shortest: to_wire(times.shortest.unwrap_or_default()),
            mean: to_wire(mean(times.sum, times.number)),
            longest: to_wire(times.longest),
            jitter: to_wire(mean(times.differences, times.number.saturating_sub(1))),
        }
    }
}

#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
struct RoundTrips {
    number: u32,
    shortest: Option<Duration>,
    longest: Duration,
    sum: Duration,
    last: Duration,
    /// The sum of the differences between successive round-trip times.
    differences: Duration,
}

impl RoundTrips {
    fn add(&mut self, time: Duration) {
        if self.number > 0 {
            self.differences = self.differences.saturating_add(time.abs_diff(self.last));
        }
        self.number += 1;
        self.shortest = Some(self.shortest.map_or(time, |shortest| shortest.min(time)));
        self.longest = self.longest.max(time);
        self.sum = self.sum.saturating_add(time);
        self.last = time;
    }
}

fn count(mask: u64) -> u8 {
    u8::try_from(mask.count_ones()).unwrap_or(u8::MAX)
}

fn mean(sum: Duration, number: u32) -> Duration {
    sum.checked_div(number).unwrap_or_default()
}

fn to_wire(time: Duration) -> U32 {
    u32::try_from(nanos(time)).unwrap_or(u32::MAX).into()
}
