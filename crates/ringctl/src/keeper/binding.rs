//! The process that a lock of `ringctl lock` is bound to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal;
use nix::unistd;
use ring_process::SignalTarget;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::LockId;
use super::backstop::Backstop;
use super::registration::Registration;

/// A process that `ringctl` did not start, and the registration of its keeper. With the registration, other programs
/// find the keeper of the lock.
pub(super) struct BoundProcess {
    pid: i32,
    process: OwnedFd,
    kill: bool,
    pub(super) registration: Registration,
}

impl BoundProcess {
    /// Binds the lock to a process. Returns an error as a sentence.
    pub(super) fn bind(pid: i32, kill: bool, lock: &LockId) -> Result<Self, String> {
        let failed = |error: io::Error| format!("cannot bind the lock to process {pid}: {error}");
        let named = Pid::from_raw(pid).ok_or_else(|| {
            format!("cannot bind the lock to process {pid}: there is no such process")
        })?;
        let process =
            pidfd_open(named, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
        if kill && signal::kill(unistd::Pid::from_raw(pid), None) == Err(Errno::EPERM) {
            return Err(format!(
                "cannot bind the lock with --kill: process {pid} runs as another user and cannot be signaled"
            ));
        }
        let registration = Registration::open(pid, lock).map_err(failed)?;
        let registration = registration.ok_or_else(|| {
            format!("cannot bind the lock to process {pid}: it already has a lock or waits for one")
        })?;
        Ok(Self {
            pid,
            process,
            kill,
            registration,
        })
    }

    /// If `--kill` was given, sends the process SIGTERM after a loss.
    pub(super) fn signal_loss(&self) {
        if self.kill {
            // The signal fails only if the process has ended.
            let _ = pidfd_send_signal(&self.process, Signal::TERM);
        }
    }

    /// Ties the process to a backstop. Then the process gets SIGTERM even if the keeper is killed. Returns `None` if
    /// `ringctl` must not signal the process, or if the process ended.
    pub(super) fn tie_backstop(&self) -> Option<io::Result<Backstop>> {
        if !self.kill {
            return None;
        }
        let process = SignalTarget::Process(unistd::Pid::from_raw(self.pid));
        let tied = Backstop::tie(process, signal::Signal::SIGTERM);
        // If the process has ended, another process may have its number by now, and must not be signaled.
        if self.has_ended() {
            if let Ok(tied) = tied {
                tied.disarm(false);
            }
            return None;
        }
        Some(tied)
    }

    fn has_ended(&self) -> bool {
        let mut ended = [PollFd::new(self.process.as_fd(), PollFlags::POLLIN)];
        poll(&mut ended, PollTimeout::ZERO) != Ok(0)
    }
}

impl AsFd for BoundProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }
}
