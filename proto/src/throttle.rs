//! The rate limit of one action: at most one execution per period.

use std::time::Duration;

use super::time::Instant;

/// The time of an action's last execution. It limits the rate of the action.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Throttle {
    last: Option<Instant>,
}

impl Throttle {
    /// Returns whether the action may be executed now, because a `period` has passed since the last execution. An
    /// action that may be executed counts as executed now.
    #[must_use = "an allowed action counts as executed"]
    pub fn try_take(&mut self, now: Instant, period: Duration) -> bool {
        let is_open = self.is_allowed(now, period);
        if is_open {
            self.record(now);
        }
        is_open
    }

    /// Whether a `period` has passed since the last execution.
    pub fn is_allowed(&self, now: Instant, period: Duration) -> bool {
        self.last.is_none_or(|last| now.since(last) >= period)
    }

    /// Records an execution, even if the rate limit does not allow it.
    pub fn record(&mut self, now: Instant) {
        self.last = Some(now);
    }

    /// Forgets the last execution, so that the rate limit allows the next execution at once.
    pub fn reset(&mut self) {
        self.last = None;
    }

    /// Returns the time of the last execution; `None` if there was none since the last reset.
    pub const fn last(&self) -> Option<Instant> {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_nanos(10);

    #[test]
    fn the_action_is_allowed_at_first_and_then_once_per_period() {
        let mut throttle = Throttle::default();
        let allowed: Vec<u64> = (0..40)
            .filter(|&at| throttle.try_take(Instant::from_nanos(at), PERIOD))
            .collect();
        assert_eq!(allowed, [0, 10, 20, 30]);
    }

    #[test]
    fn a_recorded_execution_counts_until_the_reset() {
        let mut throttle = Throttle::default();
        throttle.record(Instant::from_nanos(5));
        assert!(!throttle.is_allowed(Instant::from_nanos(14), PERIOD));
        throttle.reset();
        assert!(throttle.is_allowed(Instant::from_nanos(14), PERIOD));
    }
}
