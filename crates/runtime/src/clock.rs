//! The machine's clocks, and the precision of its timers.

use std::fs;
use std::io::{self, ErrorKind};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::prctl;
use nix::time::{ClockId, clock_gettime};
use ring_proto::time::{Instant, Now, nanos};

/// The clocks count as read at the same time if at most this time passed between the two readings.
const SIMULTANEOUS_MAX: Duration = Duration::from_millis(1);

/// Returns the current time.
///
/// The monotonic time is read from `CLOCK_BOOTTIME`, which continues while the machine is suspended. `CLOCK_MONOTONIC`
/// stops during that time, but the clocks of the other members continue. So a laptop that wakes up finds that its
/// timeouts have passed, and does not assume that it still owns the token.
pub fn now() -> Now {
    // The call fails only for a clock that the kernel does not have. Linux has this clock since 2.6.39.
    let since_boot = clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from);
    // A wall clock before 1970 is clearly wrong, so it counts as zero.
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Now {
        monotonic: Instant::from_nanos(nanos(since_boot)),
        wall: nanos(since_1970),
    }
}

/// Returns the boot id of the running kernel, and an offset in nanoseconds. The offset is CLOCK_BOOTTIME in this
/// process minus CLOCK_BOOTTIME in the initial time namespace. The boot id is `None` if `/proc` shows nothing but
/// processes, for example under the systemd units.
/// # Errors
/// Fails if `/proc` is not mounted, or if this process and its children have different time namespaces.
pub fn boot_clock_offset() -> io::Result<(Option<String>, i64)> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let boot = boot.map(|boot| boot.trim_end().to_owned());
    // Without `/proc`, this process cannot know whether the kernel has time namespaces.
    fs::metadata("/proc/self/ns")?;
    let offset = match fs::read_link("/proc/self/ns/time") {
        // This kernel has no time namespaces.
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        own => {
            // The kernel shows only the offsets for the children of this process. They are also the offsets of this
            // process if the children have the same namespace.
            if own? != fs::read_link("/proc/self/ns/time_for_children")? {
                return Err(io::Error::other(
                    "the children of this process have a different time namespace",
                ));
            }
            let offsets = fs::read_to_string("/proc/self/timens_offsets")?;
            boot_offset(&offsets).ok_or_else(|| io::Error::other("unknown offsets"))?
        }
    };
    Ok((boot, offset))
}

/// Returns the offset of CLOCK_BOOTTIME in `/proc/PID/timens_offsets`, in nanoseconds.
fn boot_offset(offsets: &str) -> Option<i64> {
    offsets.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        // Old kernels write the number of the clock instead of its name.
        let is_boot_time = matches!(words.next()?, "boottime" | "7");
        let mut number = || words.next()?.parse::<i64>().ok();
        is_boot_time.then(|| number()?.checked_mul(1_000_000_000)?.checked_add(number()?))?
    })
}

/// Returns the readings of CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW. Both clocks stop while the machine is suspended.
/// NTP may change the rate of CLOCK_MONOTONIC, but not the rate of CLOCK_MONOTONIC_RAW, which is the hardware counter.
/// Returns `None` if a long time passed between the two readings.
pub fn read_rates() -> Option<(Duration, Duration)> {
    // As in `now`, the call does not fail, because Linux has both clocks.
    let read = |clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    let before = read(ClockId::CLOCK_MONOTONIC);
    let counter = read(ClockId::CLOCK_MONOTONIC_RAW);
    let after = read(ClockId::CLOCK_MONOTONIC);
    (after.saturating_sub(before) < SIMULTANEOUS_MAX).then_some((before, counter))
}

/// Allows the kernel to wake this thread up to `ns` nanoseconds late. A larger value saves wake-ups. The default is 50
/// µs, which is long compared with a hop of the token.
///
/// Even with a small value, a timeout of [`Poller::wait`](crate::wait::Poller::wait) may end late by a thousandth of
/// its length, because the kernel always permits this delay.
///
/// # Errors
/// Fails if the kernel refuses the value.
pub fn timer_slack(ns: u32) -> io::Result<()> {
    // The kernel takes zero for the default.
    Ok(prctl::set_timerslack(ns.max(1).into())?)
}

#[cfg(test)]
mod tests {
    use super::{boot_clock_offset, boot_offset};

    #[test]
    fn the_offset_of_a_time_namespace_is_read() {
        let early = "1 10 0\n7 -5 500000000\n";
        assert_eq!(boot_offset(early), Some(-4_500_000_000));
        let named = "monotonic           10         0\nboottime       100000         7\n";
        assert_eq!(boot_offset(named), Some(100_000_000_000_007));
        assert_eq!(boot_offset(""), None);
        assert!(boot_clock_offset().is_ok());
    }
}
