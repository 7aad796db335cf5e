//! What signals the work if this process is killed before it could end it. The kernel does, as long
//! as somebody has the life line open: `ringctl` and the command may be dead or have closed it, so
//! the daemon has it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::signal::Signal;
use ring_process::{Lifeline, Tied, freezer};

use super::super::client::Plain;
use ring_client::held::HeldLock;

/// Work that is signalled when this process ends, in whatever way.
pub(super) struct Backstop {
    line: Lifeline,
    _end: OwnedFd,
    trigger: Option<Trigger>,
}

/// A second line to the work, whose other end the daemon has as well: by it the daemon signals the work at the end of
/// the lease though this process lives.
struct Trigger {
    line: Lifeline,
    end: OwnedFd,
}

impl Trigger {
    fn tie(work: Tied, signal: Signal) -> io::Result<Self> {
        let (line, end) = Lifeline::new()?;
        line.tie(work, signal)?;
        Ok(Self { line, end })
    }
}

impl Backstop {
    /// Ties the work.
    ///
    /// # Errors
    /// It is gone, or there are too many open files.
    pub(super) fn tie(work: Tied, signal: Signal) -> io::Result<Self> {
        let (line, end) = Lifeline::new()?;
        line.tie(work, signal)?;
        // Elsewhere this process dies in time, frozen or not: its kill timer sees to that.
        let trigger = freezer::is_there().then(|| Trigger::tie(work, signal));
        Ok(Self {
            line,
            _end: end,
            trigger: trigger.transpose()?,
        })
    }

    /// Hands it to the daemon, with what ends a control group, to which the daemon writes if this
    /// process ends without giving the lock back. The daemon answers whether it has taken all.
    ///
    /// # Errors
    /// The daemon is gone, or the system passes no more descriptors: there will be no answer.
    pub(super) fn hand_over(&self, lock: &mut HeldLock, kill: Option<&File>) -> io::Result<()> {
        let line = Some(self.line.as_fd());
        let kill = kill.map(AsFd::as_fd);
        let trigger = self.trigger.as_ref().map(|trigger| trigger.end.as_fd());
        let descriptors: Vec<_> = line.into_iter().chain(trigger).chain(kill).collect();
        lock.say_with(&Plain::Bind, &descriptors)
    }

    /// No process is signalled from now on.
    pub(super) fn lift(self) {
        self.line.untie();
        if let Some(trigger) = self.trigger {
            trigger.line.untie();
        }
    }
}
