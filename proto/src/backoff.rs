//! Repeating what is not answered, less and less often.

use std::time::Duration;

use super::time::Instant;

/// When something is to be repeated: after the first interval, then after twice as long each time, up to the
/// longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Backoff {
    due: Instant,
    interval: Duration,
}

impl Backoff {
    /// It was done for the first time `now`.
    pub fn new(now: Instant, first: Duration) -> Self {
        Self {
            due: now + first,
            interval: first,
        }
    }

    /// When it is to be done again.
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// Whether it is to be done again now.
    pub fn is_due(&self, now: Instant) -> bool {
        self.due <= now
    }

    /// It was done again `now`; the next interval is twice as long, `longest` at most.
    pub fn repeated(&mut self, now: Instant, longest: Duration) {
        self.interval = self.interval.saturating_mul(2).min(longest);
        self.due = now + self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_intervals_double_up_to_the_longest() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_secs(1));
        let mut backoff = Backoff::new(Instant::default(), first);
        let mut at = Vec::new();
        for _ in 0..6 {
            let now = backoff.due();
            assert!(backoff.is_due(now) && !backoff.is_due(now.before(Duration::from_nanos(1))));
            at.push(now.as_nanos() / 1_000_000);
            backoff.repeated(now, longest);
        }
        assert_eq!(at, [100, 300, 700, 1500, 2500, 3500]);
    }
}
