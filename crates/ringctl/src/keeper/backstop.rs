//! Backstops. If the keeper is killed before it has ended the work, the kernel signals the work. The kernel sends this
//! signal only if some process holds the tied end of the life line open. `ringctl` and the command may have ended, or
//! may have closed this end. So the daemon gets a copy of the tied end.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::signal::Signal;
use ring_process::{Lifeline, SignalTarget, freezer};

use super::super::client::CommonRequest;
use ring_client::held_lock::HeldLock;

/// Work that the kernel signals when this process ends, even after SIGKILL.
pub(super) struct Backstop {
    line: Lifeline,
    end: OwnedFd,
    trigger: Option<Trigger>,
}

/// A second life line to the work. The daemon also has a copy of its opposite end. So the daemon can signal the work at
/// the end of the lease, even if the keeper still exists.
struct Trigger {
    line: Lifeline,
    end: OwnedFd,
}

impl Trigger {
    fn tie(work: SignalTarget, signal: Signal) -> io::Result<Self> {
        let (line, end) = Lifeline::new()?;
        line.tie(work, signal)?;
        Ok(Self { line, end })
    }
}

impl Backstop {
    /// Ties the work to a new life line.
    pub(super) fn tie(work: SignalTarget, signal: Signal) -> io::Result<Self> {
        let (line, end) = Lifeline::new()?;
        line.tie(work, signal)?;
        // A second life line is needed only if there is the freezer of cgroup v1. Without this freezer, the kill timer
        // always kills the keeper in time.
        let trigger = freezer::is_present().then(|| Trigger::tie(work, signal));
        Ok(Self {
            line,
            end,
            trigger: trigger.transpose()?,
        })
    }

    /// Passes the life lines and the kill file of a control group to the daemon. If the keeper ends without a release,
    /// the daemon writes to the kill file. The daemon's answer shows whether it accepted all descriptors.
    ///
    /// # Errors
    /// Fails if the daemon has ended, or if the system cannot pass more descriptors. After a failure, no answer
    /// arrives.
    pub(super) fn hand_over(&self, lock: &mut HeldLock, kill: Option<&File>) -> io::Result<()> {
        let line = Some(self.line.as_fd());
        let kill = kill.map(AsFd::as_fd);
        let trigger = self.trigger.as_ref().map(|trigger| trigger.end.as_fd());
        let descriptors: Vec<_> = line.into_iter().chain(trigger).chain(kill).collect();
        lock.send_with(&CommonRequest::Bind, &descriptors)
    }

    /// Detaches the work from the life lines. After this call, the kernel signals no process. If all work has ended,
    /// reports it over the life line: after the death of the daemon, its guardian waits for this report.
    pub(super) fn disarm(self, has_work_ended: bool) {
        if has_work_ended {
            self.line.report_end(&self.end);
        } else {
            self.line.untie();
        }
        if let Some(trigger) = self.trigger {
            trigger.line.untie();
        }
    }
}
