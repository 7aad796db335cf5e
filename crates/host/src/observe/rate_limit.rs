//! A rate limit for log lines.

use std::time::Duration;

use ring_proto::time::Instant;

/// A rate limit that allows a burst of lines and then one line per period. It also counts the refused lines.
#[derive(Debug)]
pub struct RateLimit {
    burst: u32,
    period: Duration,
    available: u32,
    topped_up_at: Instant,
    refused: u64,
}

impl RateLimit {
    /// Makes a limit that allows `burst` lines at once, and one line per `period` in the long run.
    pub const fn new(burst: u32, period: Duration) -> Self {
        Self {
            burst,
            period,
            available: burst,
            topped_up_at: Instant::from_nanos(0),
            refused: 0,
        }
    }

    /// Counts a line at `now`. Returns whether the line is allowed.
    pub fn allow(&mut self, now: Instant) -> bool {
        self.top_up(now);
        if self.available == 0 {
            self.refused += 1;
            return false;
        }
        self.available -= 1;
        true
    }

    /// Counts the last allowed line as refused, because it was not printed.
    pub fn refuse(&mut self) {
        self.available += 1;
        self.refused += 1;
    }

    /// Adds the permissions that are due. Returns whether a whole burst is allowed after this call.
    pub fn refill(&mut self, now: Instant) -> bool {
        self.top_up(now);
        self.available == self.burst
    }

    /// Returns the number of refused lines since the last call.
    pub fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    fn top_up(&mut self, now: Instant) {
        let periods = now.since(self.topped_up_at).as_nanos() / self.period.as_nanos().max(1);
        if periods == 0 {
            return;
        }
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        self.available = self.available.saturating_add(periods).min(self.burst);
        self.topped_up_at = if self.available == self.burst {
            now
        } else {
            self.topped_up_at + self.period * periods
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
    fn a_burst_and_then_one_per_period_are_allowed() {
        let mut limit = RateLimit::new(3, Duration::from_millis(100));
        let allowed = (0..1000).filter(|&ms| limit.allow(at(5000 + ms))).count();
        assert_eq!(allowed, 3 + 9);
        assert_eq!(limit.take_refused(), 1000 - 12);
        assert_eq!(limit.take_refused(), 0);
    }

    #[test]
    fn a_pause_restores_at_most_a_burst() {
        let mut limit = RateLimit::new(2, Duration::from_millis(100));
        let allowed = |limit: &mut RateLimit, ms| (0..5).filter(|_| limit.allow(at(ms))).count();
        assert_eq!(allowed(&mut limit, 1000), 2);
        assert_eq!(allowed(&mut limit, 60_000), 2);
        assert_eq!(allowed(&mut limit, 60_050), 0);
        assert_eq!(allowed(&mut limit, 60_100), 1);
    }
}
