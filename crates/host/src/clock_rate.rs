//! Whether the kernel runs this machine's clock faster or slower than the hardware counter, as NTP can make
//! it do, and by more than the members of a ring may differ.

use std::time::Duration;

/// Minimum time to measure.
const SPAN: Duration = Duration::from_secs(10);
/// Maximum error of a clock: one per cent.
const MOST_OF_MILLION: i64 = 10_000;

/// The rate of the clock.
#[derive(Debug)]
pub(crate) struct ClockRate {
    /// The last readings of the clock and the counter.
    last: Option<(Duration, Duration)>,
    /// The error of the clock in millionths, if that is too much; positive: too fast.
    off: Option<i64>,
}

impl ClockRate {
    /// Not read yet.
    pub(crate) const fn new() -> Self {
        Self {
            last: None,
            off: None,
        }
    }

    /// Reads the clock, `CLOCK_MONOTONIC`, and the counter behind it, `CLOCK_MONOTONIC_RAW`. Returns whether the
    /// verdict has changed.
    pub(crate) fn look(&mut self, clock: Duration, counter: Duration) -> bool {
        let Some((clock_then, counter_then)) = self.last else {
            self.last = Some((clock, counter));
            return false;
        };
        let span = counter.saturating_sub(counter_then);
        if span < SPAN {
            return false;
        }
        self.last = Some((clock, counter));
        let shown = clock.saturating_sub(clock_then);
        let millionths = of_million(shown, span);
        let before = self.off;
        self.off = (millionths.abs() > MOST_OF_MILLION).then_some(millionths);
        before.is_some() != self.off.is_some()
    }

    /// What is wrong, and what to do; `None`: nothing.
    pub(crate) fn trouble(&self) -> Option<String> {
        let per_cent = self.off?.unsigned_abs() / 10_000;
        let way = if self.off > Some(0) { "fast" } else { "slow" };
        Some(format!(
            "this machine's clock is made to run {per_cent} % too {way}: leases may be too long or \
             too short; look at what sets it (adjtimex, NTP)"
        ))
    }
}

/// Returns by how many millionths `shown` is longer than `counted`.
fn of_million(shown: Duration, counted: Duration) -> i64 {
    let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    let (shown, counted) = (micros(shown), micros(counted).max(1));
    shown.saturating_sub(counted).saturating_mul(1_000_000) / counted
}

#[cfg(test)]
mod tests {
    use super::ClockRate;
    use std::time::Duration;

    /// Looks once a second for so many seconds while the clock is too fast by so many millionths.
    fn run(
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
            changes += u32::from(rate.look(at.0, at.1));
        }
        changes
    }

    #[test]
    fn a_clock_that_is_off_by_more_than_a_hundredth_is_told_of_once_and_when_it_is_not() {
        let mut rate = ClockRate::new();
        let mut at = (Duration::ZERO, Duration::ZERO);
        assert_eq!(run(&mut rate, &mut at, 100, 500), 0, "NTP does that");
        assert_eq!(run(&mut rate, &mut at, 100, -9_000), 0);
        assert_eq!(rate.trouble(), None);
        assert_eq!(run(&mut rate, &mut at, 100, -50_000), 1);
        let trouble = rate.trouble().expect("it is too slow");
        assert!(
            trouble.contains("too slow") && trouble.contains(" 5 %"),
            "{trouble}"
        );
        assert_eq!(run(&mut rate, &mut at, 100, 0), 1);
        assert_eq!(rate.trouble(), None);
        assert_eq!(run(&mut rate, &mut at, 100, 20_000), 1);
        assert!(rate.trouble().is_some_and(|it| it.contains("too fast")));
    }

    #[test]
    fn only_what_passes_meanwhile_counts() {
        let mut rate = ClockRate::new();
        let mut at = (Duration::from_secs(7), Duration::from_secs(3));
        assert_eq!(run(&mut rate, &mut at, 30, 0), 0);
        assert_eq!(rate.trouble(), None);
    }
}
