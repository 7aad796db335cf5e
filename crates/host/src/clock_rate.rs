//! Compares the rate of the machine's clock with the hardware counter. NTP, for example, can change the rate of the
//! clock, even by more than the permitted difference between the clocks of a ring.

use std::time::Duration;

/// Minimum time between two readings.
const MEASUREMENT_MIN: Duration = Duration::from_secs(10);
/// Maximum error of a clock, in millionths: one percent.
const ERROR_MAX_MILLIONTHS: i64 = 10_000;

#[derive(Debug)]
pub(crate) struct ClockRate {
    /// The previous readings of the clock and of the counter.
    last: Option<(Duration, Duration)>,
    /// Error of the clock in millionths; `None` unless the error exceeds the maximum. A positive error means that the
    /// clock is too fast.
    error_millionths: Option<i64>,
}

impl ClockRate {
    pub(crate) const fn new() -> Self {
        Self {
            last: None,
            error_millionths: None,
        }
    }

    /// Handles readings of the clock (`CLOCK_MONOTONIC`) and of the counter (`CLOCK_MONOTONIC_RAW`). Returns whether
    /// this has changed: the clock was right and is wrong, or the clock was wrong and is right.
    pub(crate) fn update(&mut self, clock: Duration, counter: Duration) -> bool {
        let Some((clock_then, counter_then)) = self.last else {
            self.last = Some((clock, counter));
            return false;
        };
        let span = counter.saturating_sub(counter_then);
        if span < MEASUREMENT_MIN {
            return false;
        }
        self.last = Some((clock, counter));
        let shown = clock.saturating_sub(clock_then);
        let millionths = millionths_longer(shown, span);
        let before = self.error_millionths;
        self.error_millionths = (millionths.abs() > ERROR_MAX_MILLIONTHS).then_some(millionths);
        before.is_some() != self.error_millionths.is_some()
    }

    /// Returns a text about the problem and a remedy; `None` if the clock is right.
    pub(crate) fn problem(&self) -> Option<String> {
        let per_cent = self.error_millionths?.unsigned_abs() / 10_000;
        let direction = if self.error_millionths > Some(0) {
            "fast"
        } else {
            "slow"
        };
        Some(format!(
            "this machine's clock runs {per_cent} % too {direction}: leases may be too long or \
             too short; check adjtimex and NTP"
        ))
    }
}

/// Returns the difference between `shown` and `counted`, in millionths of `counted`.
fn millionths_longer(shown: Duration, counted: Duration) -> i64 {
    let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    let (shown, counted) = (micros(shown), micros(counted).max(1));
    shown.saturating_sub(counted).saturating_mul(1_000_000) / counted
}

#[cfg(test)]
mod tests {
    use super::ClockRate;
    use std::time::Duration;

    /// Passes readings to `rate` for a number of seconds. During these seconds, the clock is wrong by `millionths`.
    fn feed(
        rate: &mut ClockRate,
        at: &mut (Duration, Duration),
        seconds: u32,
        millionths: i32,
    ) -> u32 {
        let mut changes = 0;
        for _ in 0..seconds {
            let second = u64::try_from(1_000_000 + millionths).expect("forwards");
            at.0 += Duration::from_micros(second);
            at.1 += Duration::from_secs(1);
            changes += u32::from(rate.update(at.0, at.1));
        }
        changes
    }

    #[test]
    fn a_clock_that_is_off_by_more_than_a_hundredth_is_reported_once() {
        let mut rate = ClockRate::new();
        let mut at = (Duration::ZERO, Duration::ZERO);
        assert_eq!(
            feed(&mut rate, &mut at, 100, 500),
            0,
            "NTP may change the rate by this much"
        );
        assert_eq!(feed(&mut rate, &mut at, 100, -9_000), 0);
        assert_eq!(rate.problem(), None);
        assert_eq!(feed(&mut rate, &mut at, 100, -50_000), 1);
        let problem = rate.problem().expect("the clock is too slow");
        assert!(
            problem.contains("too slow") && problem.contains(" 5 %"),
            "{problem}"
        );
        assert_eq!(feed(&mut rate, &mut at, 100, 0), 1);
        assert_eq!(rate.problem(), None);
        assert_eq!(feed(&mut rate, &mut at, 100, 20_000), 1);
        assert!(rate.problem().is_some_and(|it| it.contains("too fast")));
    }

    #[test]
    fn only_differences_between_readings_count() {
        let mut rate = ClockRate::new();
        let mut at = (Duration::from_secs(7), Duration::from_secs(3));
        assert_eq!(feed(&mut rate, &mut at, 30, 0), 0);
        assert_eq!(rate.problem(), None);
    }
}
