//! For how long the kernel has kept the daemons of the running test from the processors. Linux 6.18 with autogroups
//! has let whole sessions wait for up to two minutes beside others that never rest: no test can judge anything then.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What daemons that share two processors with two busy loops wait in a whole test is less by far.
const TOO_LONG: Duration = Duration::from_secs(10);

/// The longest time of all that were seen, in nanoseconds.
static LONGEST: AtomicU64 = AtomicU64::new(0);

/// A test begins.
pub(crate) fn begin() {
    LONGEST.store(0, Ordering::Relaxed);
}

/// Looks how long a process has waited so far; call it before the process ends.
pub(crate) fn look_at(process: u32) {
    let path = Path::new("/proc")
        .join(process.to_string())
        .join("schedstat");
    let text = fs::read_to_string(path).unwrap_or_default();
    LONGEST.fetch_max(waited(&text).unwrap_or_default(), Ordering::Relaxed);
}

/// For how long one of them has waited, if that was too long for any test.
pub(crate) fn too_long() -> Option<Duration> {
    let longest = Duration::from_nanos(LONGEST.load(Ordering::Relaxed));
    (longest >= TOO_LONG).then_some(longest)
}

/// The second number of `schedstat`: nanoseconds in which the process could have run and did not.
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
