//! What ends the work also if the keeper itself cannot: the daemon's hands, and the kernel's.

use std::fs::File;
use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::Pid;
use ring_process::{Tied, freezer};
use ring_runtime::clock;

use super::super::Note;
use super::super::backstop::Backstop;
use super::super::binding::BoundProcess;
use super::{Job, Work};

/// How long ending the command may take where there is no time left.
const LAST_MOMENT: Duration = Duration::from_millis(100);

impl Work {
    /// Has the command ended, also if this process cannot. It starts once the daemon has what that takes.
    pub(super) fn back_up_command(&mut self, leader: Pid) {
        let tied = Backstop::tie(Tied::Group(leader), Signal::SIGKILL);
        let kill = self.tree.kill_file();
        self.back_up(tied, kill.as_ref(), Note::Go);
    }

    /// Has the process that the lock is bound to told, also if this one cannot.
    pub(super) fn back_up_bound(&mut self, granted: Note) {
        match self.bound.as_ref().and_then(BoundProcess::backstop) {
            Some(tied) => self.back_up(tied, None, granted),
            None => self.note(&granted),
        }
    }

    /// Hands the daemon what ends the work. The caller is told `then` when it has answered.
    fn back_up(&mut self, tied: io::Result<Backstop>, kill: Option<&File>, then: Note) {
        self.told_when_backed = Some(then);
        match tied {
            Ok(backstop) => {
                let handed = backstop.hand_over(&mut self.lock, kill);
                self.backstop = Some(backstop);
                // Whether the daemon is gone is found out as ever, and nothing begins then.
                if let Err(error) = handed
                    && error.kind() != io::ErrorKind::BrokenPipe
                    && error.kind() != io::ErrorKind::ConnectionReset
                {
                    self.is_exposed(&error.to_string());
                }
            }
            Err(error) => self.is_exposed(&error.to_string()),
        }
    }

    /// Tells the caller if nothing that would end the work in time can: a group of the freezer holds all of it.
    pub(super) fn warn_if_freezable(&mut self) {
        let granter = getsockopt(&self.lock, PeerCredentials);
        let granter = granter.map(|granter| Pid::from_raw(granter.pid()));
        if self.kill_timer.is_some() && granter.is_ok_and(freezer::can_freeze_with) {
            let text = "the promise of this lock does not hold here: a cgroup v1 freezer can freeze the command together \
                        with what grants the lock, and a command that is thawed may work for a moment after another \
                        machine was granted the lock; use cgroup v2, or check the fencing token where the command writes";
            self.note(&Note::Exposed(text.to_owned()));
        }
    }

    pub(super) fn is_backed_up(&mut self) {
        if let Some(note) = self.told_when_backed.take() {
            if matches!(note, Note::Go) {
                self.job = Job::Begun;
            }
            self.note(&note);
        }
    }

    /// The daemon does not have all that ends the work, or nothing can be made that does.
    pub(super) fn is_exposed(&mut self, why: &str) {
        let what = match &self.told_when_backed {
            None => return,
            Some(Note::Go) => {
                "if ringctl and ringd-keeper are both killed, what has left the command's process group or \
                 closed its descriptors is not ended"
            }
            Some(_) => "if ringd-keeper is killed or stopped, the process is not sent SIGTERM",
        };
        self.note(&Note::Exposed(format!("{what}: {why}")));
        self.is_backed_up();
    }

    /// The work is at its end, whatever the daemon answers.
    pub(super) fn wait_for_no_backing(&mut self) {
        match self.told_when_backed {
            Some(Note::Go) => self.kill_unbegun(),
            // It was granted, and its loss is told to nobody who does not know that.
            Some(_) => self.is_backed_up(),
            None => {}
        }
    }

    /// Ends the command's process, which waits at its gate and has run nothing: there is nothing that it should
    /// be told.
    pub(super) fn kill_unbegun(&mut self) {
        self.told_when_backed = None;
        let _ = self.tree.kill();
    }

    /// Has the kernel end all at the end of the lease, if this process does not get to it. If that is
    /// past it is about to.
    pub(super) fn arm_kill_timer(&mut self) {
        if let (Some(kill_timer), Some(lease)) = (&mut self.kill_timer, self.lock.lease()) {
            kill_timer.set(lease.until().max(clock::now().monotonic + LAST_MOMENT));
        }
    }
}
