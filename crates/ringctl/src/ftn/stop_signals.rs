//! Signals that end a wait or a hold in an orderly way.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::super::Error;

/// SIGTERM, SIGINT and SIGHUP, and a descriptor that becomes readable when one of these signals arrives. If the process
/// ignored one of these signals at its start, the signal stays ignored.
pub(super) struct StopSignals(SignalFd);

impl StopSignals {
    /// Catches the signals. After this call, these signals do not end the process.
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

    /// Returns the exit code that shells use for the received signal.
    pub(super) fn exit_code(&self) -> u8 {
        let arrived = self.0.read_signal().ok().flatten();
        let number = arrived.and_then(|arrived| u8::try_from(arrived.ssi_signo).ok());
        128 + number.unwrap_or(Signal::SIGTERM as u8)
    }
}

impl AsFd for StopSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
