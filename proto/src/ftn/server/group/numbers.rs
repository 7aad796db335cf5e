//! Limits on how much messages and clocks may raise the configuration number (`docs/token-service/protocol/numbers.md`
//! N9 to N12).

use std::time::Duration;

use crate::time::{Instant, Now};

/// Start of 2026, in seconds since 1970. The number from the server's clock grows with the number of periods since this
/// time.
const EPOCH_SECONDS: u64 = 1_767_225_600;
/// End of 2065, in seconds since 1970. If the clock shows a later time, the server uses this time instead.
const CLOCK_END_SECONDS: u64 = 3_029_529_600;
/// Length of a period, in seconds. In each period, the number that a server computes from its clock grows by the number
/// of servers.
const PERIOD_SECONDS: u64 = 16;
/// Number of periods in 30 days. In 30 days, the number that a server computes from its clock grows by this amount for
/// each server of the list.
const PERIODS_PER_MONTH: u64 = 30 * 24 * 3_600 / PERIOD_SECONDS;
/// Below this configuration number, fencing numbers have 63 bits. From this number on, the messages of one step may
/// raise the known number by at most [`CHANGES_PER_STEP`] for each server of the list.
const WIDE_NUMBERS_START: u64 = 1 << 32;
/// Number of configuration changes that one step allows for each server of the list. From [`WIDE_NUMBERS_START`] on, a
/// step allows only this number of changes.
const CHANGES_PER_STEP: u64 = 1_024;

/// Limits for numbers that other servers name.
#[derive(Debug, Clone, Copy, Hash, Default)]
pub(crate) struct NumberLimits {
    /// At the time `since`, the larger of two numbers: the known number, and the number from the clock.
    base: u64,
    since: Option<Instant>,
    /// One bit for each other server, by index: whether this server reported that the other server is far ahead.
    reported: u32,
}

/// A number after the limits were applied.
pub(crate) struct LimitedNumber {
    /// Number that the server uses: the named number, but at most the limit, or 0.
    pub(crate) number: u64,
    /// Whether the other server names a number above the limit for the first time.
    pub(crate) is_news: bool,
}

impl NumberLimits {
    /// Begins a step if the last step began at least `period` ago. The base of the step is the larger of two numbers:
    /// the known number, and the number from the clock.
    pub(crate) fn begin_step(&mut self, now: Now, period: Duration, servers: usize, seen: u64) {
        let is_over = |since| now.monotonic.since(since) >= period;
        // There is one step per period, however many messages name a number.
        if self.since.is_none_or(is_over) {
            let clock = periods(now.wall).unwrap_or_default() * servers as u64;
            self.base = seen.max(clock);
            self.since = Some(now.monotonic);
        }
    }

    /// Returns the number to use if the server `server` names `number`.
    pub(crate) fn limit(&mut self, servers: usize, server: usize, number: u64) -> LimitedNumber {
        let servers = servers as u64;
        // The first leader of a new service starts with a number that is a month ahead of the clock. It counts its
        // configurations from this number.
        let step = if self.base < WIDE_NUMBERS_START {
            PERIODS_PER_MONTH + CHANGES_PER_STEP
        } else {
            CHANGES_PER_STEP
        };
        let ceiling = self.base.saturating_add(step * servers);
        if number <= ceiling {
            let is_news = false;
            return LimitedNumber { number, is_news };
        }
        let bit = 1 << server;
        let is_news = self.reported & bit == 0;
        self.reported |= bit;
        // A server that is far behind must catch up, so a larger number counts up to the ceiling. No correct server
        // names a number above `highest`.
        let highest = ceiling.max(WIDE_NUMBERS_START.saturating_add(CHANGES_PER_STEP * servers));
        let number = if number <= highest { ceiling } else { 0 };
        LimitedNumber { number, is_news }
    }
}

/// Returns the number of periods since 2026. Returns `None` if the clock shows a time before 2026, because such a clock
/// is not set.
const fn periods(wall: u64) -> Option<u64> {
    let seconds = wall / 1_000_000_000;
    let seconds = if seconds < CLOCK_END_SECONDS {
        seconds
    } else {
        CLOCK_END_SECONDS
    };
    match seconds.checked_sub(EPOCH_SECONDS) {
        Some(seconds) => Some(seconds / PERIOD_SECONDS),
        None => None,
    }
}

/// Returns the smallest number for a cold leader's first configuration. If a number is known, the clock may raise the
/// known number by at most 30 days. If no number is known, the state file may be lost. Then the smallest number is 30
/// days ahead of the clock, because the servers' numbers may have been 30 days ahead of the clock.
pub(crate) fn cold_floor(wall: u64, servers: usize, known: u64) -> u64 {
    let servers = servers as u64;
    match (periods(wall), known) {
        // The clock is not set.
        (None, _) => 0,
        (Some(periods), 0) => (periods + PERIODS_PER_MONTH) * servers,
        (Some(periods), known) => {
            (periods * servers).min(known.saturating_add(PERIODS_PER_MONTH * servers))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a time in nanoseconds since 1970: the start of 2026, plus this number of days.
    const fn day(days: u64) -> u64 {
        (EPOCH_SECONDS + days * 86_400) * 1_000_000_000
    }

    #[test]
    fn a_clock_adds_thirty_days_to_what_is_known_at_most() {
        let known = cold_floor(day(300), 3, 0);
        assert_eq!(known, 330 * 5_400 * 3);
        assert_eq!(cold_floor(day(310), 3, known), 310 * 5_400 * 3);
        assert_eq!(
            cold_floor(day(365 * 362), 3, known),
            known + 3 * PERIODS_PER_MONTH
        );
        assert_eq!(
            cold_floor(day(365 * 362), 3, u64::MAX),
            periods(u64::MAX).unwrap() * 3
        );
    }

    #[test]
    fn where_nothing_is_known_a_lost_number_is_exceeded_and_a_clock_beyond_2065_is_not_believed() {
        assert_eq!(cold_floor(0, 3, 0), 0);
        assert_eq!(cold_floor(day(0) - 1, 3, 0), 0);
        assert_eq!(cold_floor(day(0), 3, 0), 3 * PERIODS_PER_MONTH);
        let late = cold_floor(day(365 * 362), 32, 0);
        assert!(late < WIDE_NUMBERS_START && late == cold_floor(u64::MAX, 32, 0));
    }
}
