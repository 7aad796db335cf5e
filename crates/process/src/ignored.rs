//! Signals that a process ignored from its start.

use std::fs;
use std::io;

use nix::sys::signal::Signal;

/// The signals that this process ignores. Those that it ignores before it catches any were ignored by
/// who started it (`nohup`), who wants it to go on when they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IgnoredSignals(u64);

impl IgnoredSignals {
    /// Those of now.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn now() -> io::Result<Self> {
        Ok(Self::from_status(&fs::read_to_string("/proc/self/status")?))
    }

    /// Whether `signal` is one.
    pub const fn contains(self, signal: Signal) -> bool {
        self.0 & (1 << (signal as i32 - 1)) != 0
    }

    fn from_status(status: &str) -> Self {
        let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
        Self(bits.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::IgnoredSignals;
    use nix::sys::signal::Signal::{SIGHUP, SIGPIPE, SIGTERM};

    #[test]
    fn what_was_ignored_from_the_start_is_read() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        let ignored = IgnoredSignals::from_status(status);
        assert!(ignored.contains(SIGHUP) && ignored.contains(SIGPIPE));
        assert!(!ignored.contains(SIGTERM));
        assert!(!IgnoredSignals::from_status("").contains(SIGHUP));
    }
}
