//! The signals that end what waits or holds, in order.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::super::Error;

/// SIGTERM, SIGINT and SIGHUP, behind a descriptor that is readable once one has come. Those that the process ignores
/// stay ignored.
pub(super) struct Stop(SignalFd);

impl Stop {
    /// From now on they do not end the process.
    pub(super) fn new() -> Result<Self, Error> {
        let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let caught = signals
            .thread_block()
            .and_then(|()| SignalFd::with_flags(&signals, flags));
        caught
            .map(Self)
            .map_err(|error| Error::System(error.into()))
    }

    /// Returns the exit code for the signal that has come, as shells count.
    pub(super) fn exit_code(&self) -> u8 {
        let came = self.0.read_signal().ok().flatten();
        let number = came.and_then(|came| u8::try_from(came.ssi_signo).ok());
        128 + number.unwrap_or(Signal::SIGTERM as u8)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
