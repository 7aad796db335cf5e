//! The signals that a process has ignored since its start.

use std::fs;
use std::io;

use nix::sys::signal::Signal;

/// The signals that this process has ignored since its start. Read them before the process sets its first handler.
/// Until then, the process ignores exactly the signals that its parent chose, for example with `nohup`. The process
/// should continue after such a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IgnoredSignals(u64);

impl IgnoredSignals {
    /// Reads the signals that are ignored at the moment.
    ///
    /// # Errors
    /// Fails without `/proc`.
    pub fn read() -> io::Result<Self> {
        Ok(Self::from_status(&fs::read_to_string("/proc/self/status")?))
    }

    /// Whether `signal` is ignored.
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
    fn ignored_signals_are_read_from_the_status() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        let ignored = IgnoredSignals::from_status(status);
        assert!(ignored.contains(SIGHUP) && ignored.contains(SIGPIPE));
        assert!(!ignored.contains(SIGTERM));
        assert!(!IgnoredSignals::from_status("").contains(SIGHUP));
    }
}
