//! A limit on units per time, with bursts.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Length of a burst of posts: a client may send at once the bytes that its rate permits during this time.
pub(super) const BURST_TIME: Duration = Duration::from_secs(8);

/// A limit permits this number of units in each period.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub units: u32,
    pub period: Duration,
    /// After a pause, the client may use at once the units of this time, and one more unit.
    pub burst: Duration,
}

impl Rate {
    /// Returns the limit of posts, in bytes per second.
    pub(super) fn of_posts(rate: usize) -> Self {
        Self {
            units: u32::try_from(rate.max(1)).unwrap_or(u32::MAX),
            period: Duration::from_secs(1),
            burst: BURST_TIME,
        }
    }

    fn time_of(&self, count: usize) -> Duration {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.period.saturating_mul(count) / self.units
    }
}

#[derive(Debug)]
pub(super) struct RateLimit {
    rate: Rate,
    /// The time at which all counted units are forgotten. The limit forgets units at its rate. The time is `None` if no
    /// units were counted.
    idle_at: Mutex<Option<Instant>>,
}

impl RateLimit {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            idle_at: Mutex::default(),
        }
    }

    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.update(now, |backlog| backlog).is_zero()
    }

    pub(super) fn count(&self, count: usize, now: Instant) {
        self.update(now, |backlog| backlog + self.rate.time_of(count));
    }

    /// Forgets counted units before their time.
    pub(super) fn forgive(&self, count: usize, now: Instant) {
        self.update(now, |backlog| {
            backlog.saturating_sub(self.rate.time_of(count))
        });
    }

    fn wait_time(&self, now: Instant) -> Duration {
        self.update(now, |backlog| backlog)
            .saturating_sub(self.rate.burst)
    }

    /// Replaces the time that the limit needs to forget all counted units. Returns the new time.
    fn update(&self, now: Instant, change: impl Fn(Duration) -> Duration) -> Duration {
        let mut idle_at = self.idle_at.lock().unwrap_or_else(PoisonError::into_inner);
        let backlog = idle_at.map_or(Duration::ZERO, |idle_at| {
            idle_at.saturating_duration_since(now)
        });
        let backlog = change(backlog);
        *idle_at = now.checked_add(backlog);
        backlog
    }
}

/// Checks that no limit is exceeded.
///
/// # Errors
/// Returns the longest waiting time of the limits.
pub(super) fn wait_time(limits: &[&RateLimit], now: Instant) -> Result<(), Duration> {
    let wait = limits.iter().map(|limit| limit.wait_time(now)).max();
    match wait.filter(|wait| !wait.is_zero()) {
        Some(wait) => Err(wait),
        None => Ok(()),
    }
}
