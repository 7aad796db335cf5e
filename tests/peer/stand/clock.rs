//! The daemon's clocks. Tests count time from their start.

use std::time::Duration;

use ring_proto::time::{Instant, Now, nanos};

/// Monotonic clock at the start of the test. The machine has already run for a while.
const MONOTONIC_START: Duration = Duration::from_secs(1_000);
/// Wall clock at the start of the test, in nanoseconds since 1970.
const WALL_START: u64 = 1_700_000_000_000_000_000;

/// Returns both clocks at a time of the test.
pub(super) fn now(at: Duration) -> Now {
    Now {
        monotonic: Instant::from_nanos(nanos(MONOTONIC_START + at)),
        wall: wall(at),
    }
}

/// Returns the wall clock at a time of the test.
pub(crate) fn wall(at: Duration) -> u64 {
    WALL_START + nanos(at)
}

/// Returns the time of the test at which the monotonic clock shows `instant`.
pub(super) fn at(instant: Instant) -> Duration {
    Duration::from_nanos(instant.as_nanos()).saturating_sub(MONOTONIC_START)
}
