//! One clock for what tests do and what the kernel stamps on frames.

use std::sync::OnceLock;
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// Time since the process first asked. The kernel stamps frames by the same clock.
pub fn now() -> Duration {
    since_start(wall())
}

/// The time of a kernel's stamp.
pub(crate) fn of_stamp(stamp: TimeSpec) -> Duration {
    since_start(Duration::from(stamp))
}

/// The start of the clock since 1970, for files that want dates.
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
