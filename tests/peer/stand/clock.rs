//! Time as the daemon's clocks show it. Tests count from the start of their world.

use std::time::Duration;

use ring_proto::time::{Instant, Now, nanos};

/// What the monotonic clock shows at the start: the machine has been up for a while.
const MONOTONIC: Duration = Duration::from_secs(1_000);
/// What the wall clock shows at the start, in nanoseconds since 1970.
const WALL: u64 = 1_700_000_000_000_000_000;

/// Both clocks at a time of the test's.
pub(super) fn now(at: Duration) -> Now {
    Now {
        monotonic: Instant::from_nanos(nanos(MONOTONIC + at)),
        wall: wall(at),
    }
}

/// The wall clock at a time of the test's.
pub(crate) fn wall(at: Duration) -> u64 {
    WALL + nanos(at)
}

/// The time of the test's at which the monotonic clock shows `instant`.
pub(super) fn at(instant: Instant) -> Duration {
    Duration::from_nanos(instant.as_nanos()).saturating_sub(MONOTONIC)
}
