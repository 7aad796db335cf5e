//! Measures how long the test's daemons were ready to run but got no CPU from the kernel. With autogroups under Linux
//! 6.18, whole sessions waited for up to two minutes while other sessions ran. After such a long wait, the test's
//! result means nothing.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longest wait for a CPU after which the result of a test still counts. Daemons that share two CPUs with two busy
/// loops wait much less during a whole test.
const STARVATION_LIMIT: Duration = Duration::from_secs(10);

/// Longest wait of all daemons, in nanoseconds.
static LONGEST_WAIT_NANOS: AtomicU64 = AtomicU64::new(0);

/// Resets the measurement at the beginning of a test.
pub(crate) fn reset() {
    LONGEST_WAIT_NANOS.store(0, Ordering::Relaxed);
}

/// Reads the time for which a process has waited for a CPU. Must be called before the process ends.
pub(crate) fn record_wait(process: u32) {
    let path = Path::new("/proc")
        .join(process.to_string())
        .join("schedstat");
    let text = fs::read_to_string(path).unwrap_or_default();
    LONGEST_WAIT_NANOS.fetch_max(wait_nanos(&text).unwrap_or_default(), Ordering::Relaxed);
}

/// Returns the longest wait of a daemon if it exceeds the limit.
pub(crate) fn starvation() -> Option<Duration> {
    let longest = Duration::from_nanos(LONGEST_WAIT_NANOS.load(Ordering::Relaxed));
    (longest >= STARVATION_LIMIT).then_some(longest)
}

/// Returns the second number of `schedstat`: the nanoseconds for which the process was ready but did not run.
fn wait_nanos(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::{LONGEST_WAIT_NANOS, STARVATION_LIMIT, record_wait, reset, starvation, wait_nanos};

    #[test]
    fn a_process_that_waited_too_long_is_remembered_until_another_test_begins() {
        assert_eq!(wait_nanos("12 3000 7\n"), Some(3000));
        assert_eq!(wait_nanos(""), None);
        record_wait(std::process::id());
        assert!(
            LONGEST_WAIT_NANOS.load(Ordering::Relaxed) > 0,
            "the kernel shows schedstat"
        );
        assert_eq!(starvation(), None);
        let nanos = u64::try_from(STARVATION_LIMIT.as_nanos()).expect("the time fits into 64 bits");
        LONGEST_WAIT_NANOS.store(nanos, Ordering::Relaxed);
        record_wait(std::process::id());
        assert_eq!(starvation(), Some(STARVATION_LIMIT));
        reset();
        assert_eq!(starvation(), None);
    }
}
