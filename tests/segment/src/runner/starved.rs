//! Measures how long the kernel kept the test's daemons from the CPU. Linux 6.18 with autogroups let whole sessions
//! wait for up to two minutes while others ran. A test cannot judge anything then.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Daemons that share two CPUs with two busy loops wait much less during a whole test.
const TOO_LONG: Duration = Duration::from_secs(10);

/// Longest wait of all daemons, in nanoseconds.
static LONGEST: AtomicU64 = AtomicU64::new(0);

/// Resets the measurement at the begin of a test.
pub(crate) fn begin() {
    LONGEST.store(0, Ordering::Relaxed);
}

/// Reads how long a process has waited. Call it before the process ends.
pub(crate) fn look_at(process: u32) {
    let path = Path::new("/proc")
        .join(process.to_string())
        .join("schedstat");
    let text = fs::read_to_string(path).unwrap_or_default();
    LONGEST.fetch_max(waited(&text).unwrap_or_default(), Ordering::Relaxed);
}

/// Returns the longest wait, if it was too long for any test.
pub(crate) fn too_long() -> Option<Duration> {
    let longest = Duration::from_nanos(LONGEST.load(Ordering::Relaxed));
    (longest >= TOO_LONG).then_some(longest)
}

/// Returns the second number of `schedstat`: the nanoseconds for which the process was ready but did not run.
fn waited(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::{LONGEST, TOO_LONG, begin, look_at, too_long, waited};

    #[test]
    fn a_process_that_waited_too_long_is_remembered_until_another_test_begins() {
        assert_eq!(waited("12 3000 7\n"), Some(3000));
        assert_eq!(waited(""), None);
        look_at(std::process::id());
        assert!(LONGEST.load(Ordering::Relaxed) > 0, "the kernel tells");
        assert_eq!(too_long(), None);
        let nanos = u64::try_from(TOO_LONG.as_nanos()).expect("it is short");
        LONGEST.store(nanos, Ordering::Relaxed);
        look_at(std::process::id());
        assert_eq!(too_long(), Some(TOO_LONG));
        begin();
        assert_eq!(too_long(), None);
    }
}
