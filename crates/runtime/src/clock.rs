//! The clocks of this machine.

use std::fs;
use std::io::{self, ErrorKind};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::prctl;
use nix::time::{ClockId, clock_gettime};
use ring_proto::time::{Instant, Now, nanos};

/// Two clocks that are read within so short a time show the same moment.
const AT_ONCE: Duration = Duration::from_millis(1);

/// What time it is.
///
/// The monotonic part is `CLOCK_BOOTTIME`, which goes on while the machine is suspended;
/// `CLOCK_MONOTONIC` stands still. The other members' clocks go on too: a laptop that wakes up
/// must find that its time-outs have passed, not that it still owns the token.
pub fn now() -> Now {
    // The kernel refuses a clock only that it does not have, and it has had this one since 2.6.39.
    let since_boot = clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from);
    // A clock that stands before 1970 is no floor for anything: zero.
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Now {
        monotonic: Instant::from_nanos(nanos(since_boot)),
        wall: nanos(since_1970),
    }
}

/// Returns how far this process's CLOCK_BOOTTIME is ahead of that of the first time namespace, in nanoseconds, and the
/// boot of the kernel that has both. The boot is `None` where `/proc` shows only processes, as under the units.
///
/// # Errors
/// There is no `/proc`, or this process is about to have another time namespace.
pub fn of_boot() -> io::Result<(Option<String>, i64)> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let boot = boot.map(|boot| boot.trim_end().to_owned());
    // Without `/proc`, time namespaces only seem to be missing.
    fs::metadata("/proc/self/ns")?;
    let offset = match fs::read_link("/proc/self/ns/time") {
        // A kernel without time namespaces.
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        own => {
            // The offsets that the kernel shows are those of the namespace of this process's children.
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
        // Its number in early kernels.
        let is_boot_time = matches!(words.next()?, "boottime" | "7");
        let mut number = || words.next()?.parse::<i64>().ok();
        is_boot_time.then(|| number()?.checked_mul(1_000_000_000)?.checked_add(number()?))?
    })
}

/// How long this machine has run without suspends by its clock, which the kernel may be told to let run faster or
/// slower, and by the counter behind it. `None`: they could not be read at the same time.
pub fn rates() -> Option<(Duration, Duration)> {
    // As above: Linux has both.
    let read = |clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    let before = read(ClockId::CLOCK_MONOTONIC);
    let counter = read(ClockId::CLOCK_MONOTONIC_RAW);
    let after = read(ClockId::CLOCK_MONOTONIC);
    (after.saturating_sub(before) < AT_ONCE).then_some((before, counter))
}

/// Lets the kernel wake this thread up to `ns` nanoseconds late, to save wake-ups. The default,
/// 50 µs, is long beside a token's hop.
///
/// A time-out of [`Poller::wait`](crate::wait::Poller::wait) may all the same be late by a thousandth of
/// its length: so much slack the kernel gives itself for all calls of that kind.
///
/// # Errors
/// The kernel refused it.
pub fn timer_slack(ns: u32) -> io::Result<()> {
    // Zero would mean the default.
    Ok(prctl::set_timerslack(ns.max(1).into())?)
}

#[cfg(test)]
mod tests {
    use super::{boot_offset, of_boot};

    #[test]
    fn the_offset_of_a_time_namespace_is_read() {
        let early = "1 10 0\n7 -5 500000000\n";
        assert_eq!(boot_offset(early), Some(-4_500_000_000));
        let named = "monotonic           10         0\nboottime       100000         7\n";
        assert_eq!(boot_offset(named), Some(100_000_000_000_007));
        assert_eq!(boot_offset(""), None);
        assert!(of_boot().is_ok());
    }
}
