//! The repetition of unanswered messages at growing intervals.

use std::time::Duration;

use super::time::Instant;

/// The time of the next repetition, and the interval before it. The interval doubles after each repetition, up to a
/// maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Backoff {
    due: Instant,
    interval: Duration,
}

impl Backoff {
    /// Returns the schedule for a message that is sent for the first time at `now`. The first repetition is due after
    /// the interval `first`.
    pub fn new(now: Instant, first: Duration) -> Self {
        Self {
            due: now + first,
            interval: first,
        }
    }

    /// Returns the due time of the next repetition.
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// Whether the next repetition is due at `now`.
    pub fn is_due(&self, now: Instant) -> bool {
        self.due <= now
    }

    /// Records a repetition at `now` and doubles the interval, up to `longest`.
    pub fn advance(&mut self, now: Instant, longest: Duration) {
        self.interval = self.interval.saturating_mul(2).min(longest);
        // The interval counts from the actual repetition. A process that was stalled must not send all missed
        // repetitions at once.
        self.due = now + self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_doubles_up_to_the_maximum() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_secs(1));
        let mut backoff = Backoff::new(Instant::default(), first);
        let mut at = Vec::new();
        for _ in 0..6 {
            let now = backoff.due();
            assert!(backoff.is_due(now) && !backoff.is_due(now.before(Duration::from_nanos(1))));
            at.push(now.as_nanos() / 1_000_000);
            backoff.advance(now, longest);
        }
        assert_eq!(at, [100, 300, 700, 1500, 2500, 3500]);
    }
}
