//! Clock of the tests. The kernel's timestamps of frames are also times of this clock.

use std::sync::OnceLock;
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// Returns the time since the process first called this function.
pub fn now() -> Duration {
    since_start(wall())
}

/// Converts the kernel's timestamp of a frame to this clock.
pub(crate) fn of_stamp(stamp: TimeSpec) -> Duration {
    since_start(Duration::from(stamp))
}

/// Returns the time from 1970 to the start of the clock, for files that need dates.
pub fn start() -> Duration {
    static START: OnceLock<Duration> = OnceLock::new();
    *START.get_or_init(wall)
}

fn since_start(wall: Duration) -> Duration {
    wall.saturating_sub(start())
}

fn wall() -> Duration {
    clock_gettime(ClockId::CLOCK_REALTIME).map_or(Duration::ZERO, Duration::from)
}
