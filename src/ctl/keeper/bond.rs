//! The process that a lock is bound to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::door::Door;

/// A process that this program was not started to run, and the door for those who ask about it.
pub(super) struct Bound {
    process: OwnedFd,
    kill: bool,
    pub(super) door: Door,
}

impl Bound {
    /// Binds to a process; why not, as a sentence.
    pub(super) fn to(pid: i32, kill: bool, daemon: &Path) -> Result<Self, String> {
        let gone = |error: io::Error| format!("the lock cannot be bound to process {pid}: {error}");
        let named = Pid::from_raw(pid).ok_or_else(|| format!("there is no process {pid}"))?;
        let process = pidfd_open(named, PidfdFlags::empty()).map_err(|error| gone(error.into()))?;
        let door = Door::open(pid, daemon).map_err(gone)?;
        let door =
            door.ok_or_else(|| format!("process {pid} has a lock already, or waits for it"))?;
        Ok(Self {
            process,
            kill,
            door,
        })
    }

    /// The lock is lost.
    pub(super) fn lose(&self) {
        if self.kill {
            // One that is gone needs no signal.
            let _ = pidfd_send_signal(&self.process, Signal::TERM);
        }
    }
}

impl AsFd for Bound {
    /// Readable when the process has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }
}
