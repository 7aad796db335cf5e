//! The process that a lock is bound to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal;
use nix::unistd;
use ring_process::Tied;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::backstop::Backstop;
use super::registration::Registration;

/// A process that this program did not start, and the registration under which other programs find its lock.
pub(super) struct BoundProcess {
    pid: i32,
    process: OwnedFd,
    kill: bool,
    pub(super) registration: Registration,
}

impl BoundProcess {
    /// Binds to a process. The error is a sentence.
    pub(super) fn to(pid: i32, kill: bool, daemon: &Path) -> Result<Self, String> {
        let gone = |error: io::Error| format!("cannot bind the lock to process {pid}: {error}");
        let named = Pid::from_raw(pid).ok_or_else(|| format!("there is no process {pid}"))?;
        let process = pidfd_open(named, PidfdFlags::empty()).map_err(|error| gone(error.into()))?;
        if kill && signal::kill(unistd::Pid::from_raw(pid), None) == Err(Errno::EPERM) {
            return Err(format!(
                "--kill cannot signal process {pid}: it runs as another user"
            ));
        }
        let registration = Registration::open(pid, daemon).map_err(gone)?;
        let registration = registration
            .ok_or_else(|| format!("process {pid} has a lock already, or waits for it"))?;
        Ok(Self {
            pid,
            process,
            kill,
            registration,
        })
    }

    /// The lock is lost.
    pub(super) fn lose(&self) {
        if self.kill {
            // A process that is gone needs no signal.
            let _ = pidfd_send_signal(&self.process, Signal::TERM);
        }
    }

    /// Signals it also if this process is killed. `None`: it should not be signalled, or is gone. The error: the
    /// kernel has no room for that.
    pub(super) fn backstop(&self) -> Option<io::Result<Backstop>> {
        if !self.kill {
            return None;
        }
        let process = Tied::Process(unistd::Pid::from_raw(self.pid));
        let tied = Backstop::tie(process, signal::Signal::SIGTERM);
        // Another process, which must not be signalled, may have got the number of one that has ended.
        let mut ended = [PollFd::new(self.process.as_fd(), PollFlags::POLLIN)];
        let lives = poll(&mut ended, PollTimeout::ZERO) == Ok(0);
        if !lives {
            if let Ok(tied) = tied {
                tied.lift();
            }
            return None;
        }
        Some(tied)
    }
}

impl AsFd for BoundProcess {
    /// Readable when the process has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }
}
