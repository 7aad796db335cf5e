//! Limits how often something is said.

use std::time::Duration;

use ring_proto::time::Instant;

/// Allows a burst, then one a period, and counts what it did not allow.
#[derive(Debug)]
pub struct RateLimit {
    burst: u32,
    period: Duration,
    left: u32,
    /// When `left` was last topped up.
    topped_up: Instant,
    refused: u64,
}

impl RateLimit {
    /// At most `burst` at once, and one each `period` in the long run.
    pub const fn new(burst: u32, period: Duration) -> Self {
        Self {
            burst,
            period,
            left: burst,
            topped_up: Instant::from_nanos(0),
            refused: 0,
        }
    }

    /// Whether one more is allowed at `now`; it then counts as done.
    pub fn allow(&mut self, now: Instant) -> bool {
        self.top_up(now);
        if self.left == 0 {
            self.refused += 1;
            return false;
        }
        self.left -= 1;
        true
    }

    /// One that was allowed is not done after all.
    pub fn refuse(&mut self) {
        self.left += 1;
        self.refused += 1;
    }

    /// Whether it allows a whole burst again.
    pub fn is_rested(&mut self, now: Instant) -> bool {
        self.top_up(now);
        self.left == self.burst
    }

    /// How many were refused since the last call.
    pub fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    fn top_up(&mut self, now: Instant) {
        let periods = now.since(self.topped_up).as_nanos() / self.period.as_nanos().max(1);
        if periods == 0 {
            return;
        }
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(periods).min(self.burst);
        self.topped_up = if self.left == self.burst {
            now
        } else {
            self.topped_up + self.period * periods
        };
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::time::Instant;

    use super::RateLimit;
    use std::time::Duration;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_burst_then_one_a_period() {
        let mut limit = RateLimit::new(3, Duration::from_millis(100));
        let allowed = (0..1000).filter(|&ms| limit.allow(at(5000 + ms))).count();
        assert_eq!(allowed, 3 + 9);
        assert_eq!(limit.take_refused(), 1000 - 12);
        assert_eq!(limit.take_refused(), 0);
    }

    #[test]
    fn quiet_times_are_saved_up_to_a_burst() {
        let mut limit = RateLimit::new(2, Duration::from_millis(100));
        let allowed = |limit: &mut RateLimit, ms| (0..5).filter(|_| limit.allow(at(ms))).count();
        assert_eq!(allowed(&mut limit, 1000), 2);
        assert_eq!(allowed(&mut limit, 60_000), 2);
        assert_eq!(allowed(&mut limit, 60_050), 0);
        assert_eq!(allowed(&mut limit, 60_100), 1);
    }
}
