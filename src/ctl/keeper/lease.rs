//! The deadlines of a lease.

use std::time::Duration;

use ring_proto::time::Instant;

/// Maximum time reserved for the kernel to carry out a SIGKILL.
const LONGEST_MARGIN: Duration = Duration::from_secs(1);

/// The reason for the loss of a lock whose lease is about to end.
pub(in crate::ctl) const OVERDUE: &str =
    "ringd did not renew the lease in time: it is stopped, or cut off";

/// The time for which the lock is safe, on CLOCK_BOOTTIME.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ctl) struct Lease {
    until: Instant,
    length: Duration,
}

impl Lease {
    /// Makes a lease that ends at `until`, as learned at `now`.
    pub(in crate::ctl) const fn new(until: Instant, now: Instant) -> Self {
        Self {
            until,
            length: until.since(now),
        }
    }

    /// Extends it to `until`; never shortens it.
    pub(in crate::ctl) fn renew(&mut self, until: Instant, now: Instant) {
        if until > self.until {
            *self = Self::new(until, now);
        }
    }

    /// Returns when it ends.
    pub(in crate::ctl) const fn until(&self) -> Instant {
        self.until
    }

    /// Whether it is over: others may be granted the lock.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// Returns when to tell the work to end, unless the lease is renewed: a quarter before the end.
    pub(in crate::ctl) fn warn_at(&self) -> Instant {
        self.until.before(self.length / 4)
    }

    /// Returns when to kill work that was told to end at `told`: after `grace`, but early enough that nothing of it
    /// is left at the lease's end.
    pub(super) fn kill_at(&self, told: Instant, grace: Duration) -> Instant {
        let margin = (self.length / 8).min(LONGEST_MARGIN);
        (told + grace).min(self.until.before(margin))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::time::Instant;

    use super::Lease;

    const GRACE: Duration = Duration::from_secs(5);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn work_is_told_a_quarter_and_killed_an_eighth_before_the_end() {
        let lease = Lease::new(at(1800), at(1000));
        assert_eq!(lease.warn_at(), at(1600));
        assert_eq!(lease.kill_at(at(1600), GRACE), at(1700));
    }

    #[test]
    fn no_more_is_kept_back_than_the_kernel_needs() {
        let lease = Lease::new(at(101_000), at(1000));
        assert_eq!(
            lease.kill_at(at(98_000), GRACE),
            at(100_000),
            "a second before"
        );
    }

    #[test]
    fn grace_counts_where_the_lease_is_longer() {
        let lease = Lease::new(at(101_000), at(1000));
        assert_eq!(lease.kill_at(at(1000), GRACE), at(6000));
    }

    #[test]
    fn a_lease_that_is_past_leaves_no_time() {
        let lease = Lease::new(at(500), at(1000));
        assert!(lease.warn_at() <= at(1000));
        assert!(lease.kill_at(at(1000), GRACE) <= at(1000));
    }

    #[test]
    fn it_is_over_at_its_end() {
        let lease = Lease::new(at(1800), at(1000));
        assert!(!lease.is_over(at(1799)) && lease.is_over(at(1800)));
    }

    #[test]
    fn it_is_renewed_but_never_shortened() {
        let mut lease = Lease::new(at(1800), at(1000));
        lease.renew(at(2200), at(1400));
        assert_eq!(lease.warn_at(), at(2000));
        lease.renew(at(2100), at(1500));
        assert_eq!(lease.warn_at(), at(2000));
    }
}
