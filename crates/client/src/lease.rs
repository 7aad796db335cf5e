//! The deadlines of a lease.

use std::time::Duration;

use ring_proto::time::Instant;
use serde::{Deserialize, Serialize};

/// The reason for the loss of a lock whose lease is about to end.
pub const OVERDUE: &str = "ringd did not renew the lease in time: it is stopped, or cut off";

/// A time before the end of a lease: a share of its length, and no more than a maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Margin {
    /// The lease's length is divided by this.
    share: u32,
    most: Duration,
}

impl Margin {
    /// A share of the length: `4` is a quarter.
    pub const fn share(share: u32, most: Duration) -> Self {
        Self { share, most }
    }

    /// The same time for every lease that is long enough.
    pub const fn at_most(most: Duration) -> Self {
        Self::share(1, most)
    }

    /// The maximum.
    pub const fn most(self) -> Duration {
        self.most
    }

    fn of(self, length: Duration) -> Duration {
        (length / self.share).min(self.most)
    }
}

/// How long before its end a lease is no longer for work. That depends on who grants it: how often it is renewed, and
/// how exactly its end is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Margins {
    /// The work is told to end, unless the lease is renewed.
    pub warning: Margin,
    /// Work that was told to end is killed, so that nothing of it is left at the end.
    pub kill: Margin,
}

/// The time for which the lock is safe, on CLOCK_BOOTTIME.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    until: Instant,
    length: Duration,
    margins: Margins,
}

impl Lease {
    /// Makes a lease that ends at `until`, as learned at `now`.
    pub const fn new(until: Instant, now: Instant, margins: Margins) -> Self {
        Self {
            until,
            length: until.since(now),
            margins,
        }
    }

    /// Extends it to `until`; never shortens it.
    pub fn renew(&mut self, until: Instant, now: Instant) {
        if until > self.until {
            *self = Self::new(until, now, self.margins);
        }
    }

    /// How long before its end it is no longer for work.
    pub const fn margins(&self) -> Margins {
        self.margins
    }

    /// Returns when it ends.
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Whether it is over: others may be granted the lock.
    pub fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// Returns when to tell the work to end, unless the lease is renewed.
    pub fn warn_at(&self) -> Instant {
        self.until.before(self.margins.warning.of(self.length))
    }

    /// Returns when to kill work that was told to end at `told`: after `grace`, but early enough that nothing of it
    /// is left at the lease's end.
    pub fn kill_at(&self, told: Instant, grace: Duration) -> Instant {
        let margin = self.margins.kill.of(self.length);
        (told + grace).min(self.until.before(margin))
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
    fn work_is_told_a_quarter_and_killed_an_eighth_before_the_end() {
        let lease = Lease::new(at(1800), at(1000), MARGINS);
        assert_eq!(lease.warn_at(), at(1600));
        assert_eq!(lease.kill_at(at(1600), GRACE), at(1700));
    }

    #[test]
    fn no_more_is_kept_back_than_the_kernel_needs() {
        let lease = Lease::new(at(101_000), at(1000), MARGINS);
        assert_eq!(
            lease.kill_at(at(98_000), GRACE),
            at(100_000),
            "a second before"
        );
    }

    #[test]
    fn grace_counts_where_the_lease_is_longer() {
        let lease = Lease::new(at(101_000), at(1000), MARGINS);
        assert_eq!(lease.kill_at(at(1000), GRACE), at(6000));
    }

    #[test]
    fn a_lease_that_is_past_leaves_no_time() {
        let lease = Lease::new(at(500), at(1000), MARGINS);
        assert!(lease.warn_at() <= at(1000));
        assert!(lease.kill_at(at(1000), GRACE) <= at(1000));
    }

    #[test]
    fn it_is_over_at_its_end() {
        let lease = Lease::new(at(1800), at(1000), MARGINS);
        assert!(!lease.is_over(at(1799)) && lease.is_over(at(1800)));
    }

    #[test]
    fn it_is_renewed_but_never_shortened() {
        let mut lease = Lease::new(at(1800), at(1000), MARGINS);
        lease.renew(at(2200), at(1400));
        assert_eq!(lease.warn_at(), at(2000));
        lease.renew(at(2100), at(1500));
        assert_eq!(lease.warn_at(), at(2000));
    }

    #[test]
    fn margins_are_those_of_who_grants_the_lease() {
        let margins = Margins {
            warning: Margin::at_most(Duration::from_secs(2)),
            kill: Margin::at_most(Duration::ZERO),
        };
        let lease = Lease::new(at(11_000), at(1000), margins);
        assert_eq!(lease.warn_at(), at(9_000));
        assert_eq!(lease.kill_at(at(9_000), GRACE), at(11_000));
        let short = Lease::new(at(2000), at(1000), margins);
        assert_eq!(short.warn_at(), at(1000), "no more than there is");
    }
}
