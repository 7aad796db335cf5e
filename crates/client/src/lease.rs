//! The deadlines of a lease.

use std::time::Duration;

use ring_proto::time::Instant;
use serde::{Deserialize, Serialize};

/// The reason that a program gets if it loses a lock because the lease was not renewed in time.
pub const OVERDUE_TEXT: &str =
    "ringd did not renew the lease in time: ringd is stopped or cannot be reached";

/// A span of time at the end of a lease. The span is a fraction of the lease's length, but at most `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Margin {
    /// The divisor of the lease's length.
    divisor: u32,
    max: Duration,
}

impl Margin {
    /// Creates a margin that is a fraction of the lease's length. With the divisor 4, the margin is a quarter of the
    /// lease.
    pub const fn share(divisor: u32, max: Duration) -> Self {
        Self { divisor, max }
    }

    /// Creates a margin of the length `max`. If a lease is shorter than `max`, the margin is as long as the lease.
    pub const fn at_most(max: Duration) -> Self {
        Self::share(1, max)
    }

    /// Returns the maximum.
    pub const fn max(self) -> Duration {
        self.max
    }

    fn before_end(self, length: Duration) -> Duration {
        (length / self.divisor).min(self.max)
    }
}

/// The margins at the end of a lease. A program must not work during the margins. The right lengths depend on the
/// granter's time between two renewals, and on the precision with which the program knows the end of the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Margins {
    /// The time from the warning to the end of the lease. The warning is SIGTERM, which the work gets if the lease is
    /// not renewed.
    pub warning: Margin,
    /// The time from the kill to the end of the lease. Within this time, all processes of the work end.
    pub kill: Margin,
}

/// The time until which the lock is safe, on CLOCK_BOOTTIME, and the margins before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    until: Instant,
    length: Duration,
    margins: Margins,
}

impl Lease {
    /// Creates a lease from `now` until `until`.
    pub const fn new(until: Instant, now: Instant, margins: Margins) -> Self {
        Self {
            until,
            length: until.since(now),
            margins,
        }
    }

    /// Extends the lease to `until`. If `until` is earlier than the present end, does nothing.
    pub fn renew(&mut self, until: Instant, now: Instant) {
        if until > self.until {
            *self = Self::new(until, now, self.margins);
        }
    }

    /// Moves the end to `until`, because the lock is lost. If the end stays the same, the margins also stay the same.
    pub fn end_by(&mut self, until: Instant, now: Instant) {
        if until != self.until {
            *self = Self::new(until, now, self.margins);
        }
    }

    /// Returns the margins.
    pub const fn margins(&self) -> Margins {
        self.margins
    }

    /// Returns the middle of the kill margin. If the work was not killed at the beginning of this margin, another
    /// process still has the second half of the margin to kill it.
    pub fn middle_of_kill_margin(&self) -> Instant {
        self.until
            .before(self.margins.kill.before_end(self.length) / 2)
    }

    /// Returns the end.
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Whether the lease has ended, so that another program may get the lock.
    pub fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// Returns the time at which the work must be warned if the lease is not renewed before.
    pub fn warn_at(&self) -> Instant {
        self.until
            .before(self.margins.warning.before_end(self.length))
    }

    /// Returns the time at which the work must be killed if it got SIGTERM at `terminated_at`. The work has the time
    /// `grace` to end. The work has less time if a process of the work could otherwise still exist at the end of the
    /// lease.
    pub fn kill_at(&self, terminated_at: Instant, grace: Duration) -> Instant {
        let margin = self.margins.kill.before_end(self.length);
        (terminated_at + grace).min(self.until.before(margin))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::time::Instant;

    use super::{Lease, Margin, Margins};

    const GRACE: Duration = Duration::from_secs(5);
    const MARGINS: Margins = Margins {
        warning: Margin::share(4, Duration::MAX),
        kill: Margin::share(8, Duration::from_secs(1)),
    };

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn work_is_warned_and_killed_in_time_before_the_end() {
        for (until, learned, terminated, killed) in [
            // The warning comes an eighth of the lease's length before the end.
            (1800, 1000, 1600, 1700),
            // The margin is at most a second.
            (101_000, 1000, 98_000, 100_000),
            // A long lease allows the whole grace time.
            (101_000, 1000, 1000, 6000),
        ] {
            let lease = Lease::new(at(until), at(learned), MARGINS);
            assert_eq!(lease.kill_at(at(terminated), GRACE), at(killed));
        }
        let lease = Lease::new(at(1800), at(1000), MARGINS);
        assert_eq!(lease.warn_at(), at(1600), "a quarter before the end");
        let past = Lease::new(at(500), at(1000), MARGINS);
        assert!(past.warn_at() <= at(1000));
        assert!(past.kill_at(at(1000), GRACE) <= at(1000), "no time is left");
    }

    #[test]
    fn a_lease_is_over_at_its_end_and_is_renewed_but_never_shortened() {
        let mut lease = Lease::new(at(1800), at(1000), MARGINS);
        assert!(!lease.is_over(at(1799)) && lease.is_over(at(1800)));
        for (until, now) in [(2200, 1400), (2100, 1500)] {
            lease.renew(at(until), at(now));
            assert_eq!(lease.warn_at(), at(2000));
        }
    }

    #[test]
    fn the_notice_of_a_loss_does_not_delay_the_kill() {
        let mut lease = Lease::new(at(1800), at(1000), MARGINS);
        lease.end_by(at(1800), at(1600));
        assert_eq!(lease.kill_at(at(1600), GRACE), at(1700));
        lease.end_by(at(1700), at(1600));
        assert_eq!(lease.until(), at(1700));
    }

    #[test]
    fn margins_depend_on_the_granter() {
        let margins = Margins {
            warning: Margin::at_most(Duration::from_secs(2)),
            kill: Margin::at_most(Duration::ZERO),
        };
        let lease = Lease::new(at(11_000), at(1000), margins);
        assert_eq!(lease.warn_at(), at(9_000));
        assert_eq!(lease.kill_at(at(9_000), GRACE), at(11_000));
        let short = Lease::new(at(2000), at(1000), margins);
        assert_eq!(short.warn_at(), at(1000), "not longer than the lease");
    }
}
