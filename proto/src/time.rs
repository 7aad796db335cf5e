//! Points in time, which the state machines get as arguments because they read no clock.

use std::ops::Add;
use std::time::Duration;

/// A point in monotonic time, in nanoseconds since an epoch that the caller chooses.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Instant(u64);

impl Instant {
    /// Returns the point in time that is `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the number of nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later than `self`.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Returns the point in time that lies `by` before this point. Returns the epoch if the result would be before the
    /// epoch.
    pub fn before(self, by: Duration) -> Self {
        // The epoch may be the boot of the computer. So a time that lies `by` in the past may be before the epoch.
        Self(self.0.saturating_sub(nanos(by)))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Returns the point in time that lies `by` after this point. If the result does not fit into 64 bits, returns the
    /// last point in time that fits, 584 years after the epoch.
    fn add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(nanos(by)))
    }
}

/// Returns a duration in nanoseconds, or `u64::MAX` if the duration does not fit 64 bits.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The present time of the two clocks that the protocols use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Now {
    /// The time of the monotonic clock, which never goes back. Timeouts use it.
    pub monotonic: Instant,
    /// The time of the wall clock, in nanoseconds since 1970. When a token is created, this time raises its progress.
    pub wall: u64,
}
