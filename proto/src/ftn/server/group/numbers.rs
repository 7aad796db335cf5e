//! How far messages and clocks may move the number of the configuration (`docs/ftn.md`, "Bounds on the numbers").

use std::time::Duration;

use crate::time::{Instant, Now};

/// 2026, from which clocks count, in seconds since 1970.
const EPOCH: u64 = 1_767_225_600;
/// A clock that shows a later year than 2065 counts as the end of that.
const CLOCK_END: u64 = 3_029_529_600;
/// The seconds in which a clock adds the number of servers.
const PERIOD: u64 = 16;
/// What a clock adds in 30 days, for one server of the list.
const MONTH: u64 = 30 * 24 * 3_600 / PERIOD;
/// Below this fencing numbers have 63 bits. From here on messages move a number by [`SHORT`] at a time.
const WIDE: u64 = 1 << 32;
/// The changes of a configuration that a step has room for, for one server of the list; beyond [`WIDE`] it is all of a step.
const SHORT: u64 = 1_024;

/// From where the other servers may move the number now.
#[derive(Debug, Clone, Copy, Hash, Default)]
pub(crate) struct Steps {
    /// The number that was known, or that the clock says, at `since`.
    base: u64,
    since: Option<Instant>,
    /// By index: the servers whose number was told to be far ahead.
    told: u32,
}

/// How much of a number counts that another server names.
pub(crate) struct Reach {
    /// All of it, as far as a step goes, or nothing of it.
    pub(crate) number: u64,
    /// Whether the server names a number far ahead for the first time.
    pub(crate) is_news: bool,
}

impl Steps {
    /// Begins a step from the number that was `seen`, or that the clock says, if the last one began `period` ago.
    pub(crate) fn begin(&mut self, now: Now, period: Duration, servers: usize, seen: u64) {
        let is_over = |since| now.monotonic.since(since) >= period;
        if self.since.is_none_or(is_over) {
            let clock = periods(now.wall).unwrap_or_default() * servers as u64;
            self.base = seen.max(clock);
            self.since = Some(now.monotonic);
        }
    }

    /// How much of the number counts that one of so many servers names.
    pub(crate) fn reach(&mut self, servers: usize, server: usize, number: u64) -> Reach {
        let servers = servers as u64;
        // Who led without knowing a number is a month beyond the clock, and changes its configuration from there.
        let step = if self.base < WIDE {
            MONTH + SHORT
        } else {
            SHORT
        };
        let ceiling = self.base.saturating_add(step * servers);
        if number <= ceiling {
            let is_news = false;
            return Reach { number, is_news };
        }
        let bit = 1 << server;
        let is_news = self.told & bit == 0;
        self.told |= bit;
        let highest = ceiling.max(WIDE.saturating_add(SHORT * servers));
        let number = if number <= highest { ceiling } else { 0 };
        Reach { number, is_news }
    }
}

/// The number of periods that a clock shows; `None`: it shows a time before 2026, and is not set.
const fn periods(wall: u64) -> Option<u64> {
    let seconds = wall / 1_000_000_000;
    let seconds = if seconds < CLOCK_END {
        seconds
    } else {
        CLOCK_END
    };
    match seconds.checked_sub(EPOCH) {
        Some(seconds) => Some(seconds / PERIOD),
        None => None,
    }
}

/// The least number of a cold leader's first configuration. Where a number is known, a clock adds 30 days to it at most. Where none
/// is, its state file may be lost: then the number is 30 days beyond the clock, since servers may have been so far ahead.
pub(crate) fn cold_floor(wall: u64, servers: usize, known: u64) -> u64 {
    let servers = servers as u64;
    match (periods(wall), known) {
        (None, _) => 0,
        (Some(periods), 0) => (periods + MONTH) * servers,
        (Some(periods), known) => (periods * servers).min(known.saturating_add(MONTH * servers)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nanoseconds since 1970, so many days after the start of 2026.
    const fn day(days: u64) -> u64 {
        (EPOCH + days * 86_400) * 1_000_000_000
    }

    #[test]
    fn a_clock_adds_thirty_days_to_what_is_known_at_most() {
        let known = cold_floor(day(300), 3, 0);
        assert_eq!(known, 330 * 5_400 * 3);
        assert_eq!(cold_floor(day(310), 3, known), 310 * 5_400 * 3);
        assert_eq!(cold_floor(day(365 * 362), 3, known), known + 3 * MONTH);
        assert_eq!(
            cold_floor(day(365 * 362), 3, u64::MAX),
            periods(u64::MAX).unwrap() * 3
        );
    }

    #[test]
    fn where_nothing_is_known_a_lost_number_is_exceeded_and_a_clock_beyond_2065_is_not_believed() {
        assert_eq!(cold_floor(0, 3, 0), 0);
        assert_eq!(cold_floor(day(0) - 1, 3, 0), 0);
        assert_eq!(cold_floor(day(0), 3, 0), 3 * MONTH);
        let late = cold_floor(day(365 * 362), 32, 0);
        assert!(late < WIDE && late == cold_floor(u64::MAX, 32, 0));
    }
}
