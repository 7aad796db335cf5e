//! The machine's clocks, and the precision of its timers.

use std::fs;
use std::io::{self, ErrorKind};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::prctl;
use nix::time::{ClockId, clock_gettime};
use ring_proto::time::{Instant, Now, nanos};

/// Maximum time between two readings that count as simultaneous.
const SIMULTANEOUS_MAX: Duration = Duration::from_millis(1);

/// Returns the current time.
///
/// The monotonic part is `CLOCK_BOOTTIME`, which continues while the machine is suspended; `CLOCK_MONOTONIC` stops.
/// The other members' clocks continue too: a laptop that wakes up must find that its timeouts have passed, not that
/// it still owns the token.
pub fn now() -> Now {
    // The kernel rejects only a clock that it does not have. It has had this one since 2.6.39.
    let since_boot = clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from);
    // A wall clock before 1970 is clearly wrong: it counts as zero.
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Now {
        monotonic: Instant::from_nanos(nanos(since_boot)),
        wall: nanos(since_1970),
    }
}

/// Returns the boot id of the running kernel, and the offset of this process's CLOCK_BOOTTIME from that of the
/// initial time namespace, in nanoseconds. The boot id is `None` where `/proc` shows only processes, as under the
/// systemd units.
/// # Errors
/// `/proc` is not mounted, or this process's children will have another time namespace.
pub fn boot_clock_offset() -> io::Result<(Option<String>, i64)> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let boot = boot.map(|boot| boot.trim_end().to_owned());
    // Without `/proc` it is unknown whether there are time namespaces.
    fs::metadata("/proc/self/ns")?;
    let offset = match fs::read_link("/proc/self/ns/time") {
        // This kernel has no time namespaces.
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        own => {
            // The kernel shows the offsets of the namespace of this process's children, which must be the same.
            if own? != fs::read_link("/proc/self/ns/time_for_children")? {
                return Err(io::Error::other("its children have another time namespace"));
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
        // Early kernels write the clock's number.
        let is_boot_time = matches!(words.next()?, "boottime" | "7");
        let mut number = || words.next()?.parse::<i64>().ok();
        is_boot_time.then(|| number()?.checked_mul(1_000_000_000)?.checked_add(number()?))?
    })
}

/// Returns the readings of CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW: the machine's uptime without suspends, once by
/// the clock whose rate NTP may change, once by the hardware counter. `None`: a long time passed between the
/// readings.
pub fn read_rates() -> Option<(Duration, Duration)> {
    // As in `now`: Linux has both clocks.
    let read = |clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    let before = read(ClockId::CLOCK_MONOTONIC);
    let counter = read(ClockId::CLOCK_MONOTONIC_RAW);
    let after = read(ClockId::CLOCK_MONOTONIC);
    (after.saturating_sub(before) < SIMULTANEOUS_MAX).then_some((before, counter))
}

/// Lets the kernel wake this thread up to `ns` nanoseconds late, to save wake-ups. The default, 50 µs, is long
/// compared with a token's hop.
///
/// A timeout of [`Poller::wait`](crate::wait::Poller::wait) may still be late by a thousandth of its length: the
/// kernel adds that much slack to all such calls.
///
/// # Errors
/// The kernel refused the value.
pub fn timer_slack(ns: u32) -> io::Result<()> {
    // Zero would mean the default.
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
