//! Sets up the backstops. With the backstops, the daemon and the kernel can end the work if the keeper cannot end it.

use std::fs::File;
use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::Pid;
use ring_process::{SignalTarget, freezer};
use ring_runtime::clock;

use super::super::Note;
use super::super::backstop::Backstop;
use super::super::binding::BoundProcess;
use super::{EventLoop, JobState};

/// If a lease has already ended, the keeper gets this time to end the command.
const KILL_TIME_MIN: Duration = Duration::from_millis(100);

impl EventLoop {
    /// Sets up the backstop of the command. The command starts when the daemon confirms the backstop.
    pub(super) fn set_up_command_backstop(&mut self, leader: Pid) {
        let target = match self.tied_parent {
            Some(parent) => SignalTarget::Process(parent),
            None => SignalTarget::Group(leader),
        };
        let tied = Backstop::tie(target, Signal::SIGKILL);
        let kill = self.tree.kill_file();
        self.pass_to_daemon(tied, kill.as_ref(), Note::Go);
    }

    /// Sets up the backstop of the bound process, then sends the note about the grant.
    pub(super) fn set_up_bound_backstop(&mut self, granted: Note) {
        match self.bound.as_ref().and_then(BoundProcess::tie_backstop) {
            Some(tied) => self.pass_to_daemon(tied, None, granted),
            None => self.send_note(&granted),
        }
    }

    /// Passes the backstop to the daemon. When the daemon has answered, sends the note `then` to the caller.
    fn pass_to_daemon(&mut self, tied: io::Result<Backstop>, kill: Option<&File>, then: Note) {
        self.note_after_backstop = Some(then);
        match tied {
            Ok(backstop) => {
                let passed = backstop.hand_over(&mut self.lock, kill);
                self.backstop = Some(backstop);
                // If the daemon has ended, no warning is needed, because the event loop notices the end. Then the
                // command never starts.
                if let Err(error) = passed
                    && error.kind() != io::ErrorKind::BrokenPipe
                    && error.kind() != io::ErrorKind::ConnectionReset
                {
                    self.on_backstop_missing(&error.to_string());
                }
            }
            Err(error) => self.on_backstop_missing(&error.to_string()),
        }
    }

    /// Warns the caller if the granter, the keeper and the command are in one freezer group. Then no process can end
    /// the command in time.
    pub(super) fn warn_if_freezable(&mut self) {
        let granter = getsockopt(&self.lock, PeerCredentials);
        let granter = granter.map(|granter| Pid::from_raw(granter.pid()));
        if self.kill_timer.is_some() && granter.is_ok_and(freezer::can_freeze_with) {
            let text = "cannot guarantee the lock: a cgroup v1 freezer can freeze the command, which may run \
                        briefly after another machine got the lock; use cgroup v2, or check the fencing token";
            self.send_note(&Note::Exposed(text.to_owned()));
        }
    }

    pub(super) fn on_backstop_confirmed(&mut self) {
        if let Some(note) = self.note_after_backstop.take() {
            if matches!(note, Note::Go) {
                self.job = JobState::Begun;
            }
            self.send_note(&note);
        }
    }

    /// Warns the caller that the daemon has no backstop, or that no backstop can be created.
    pub(super) fn on_backstop_missing(&mut self, why: &str) {
        let what = match &self.note_after_backstop {
            None => return,
            Some(Note::Go) => {
                "if ringctl and ringd-keeper are both killed, processes that have left the command's process group or \
                 closed its descriptors continue"
            }
            Some(_) => "if ringd-keeper is killed or stopped, the process is not sent SIGTERM",
        };
        self.send_note(&Note::Exposed(format!("{what}: {why}")));
        self.on_backstop_confirmed();
    }

    /// Stops waiting for the daemon's answer about the backstop, because the work ends.
    pub(super) fn stop_waiting_for_backstop(&mut self) {
        match self.note_after_backstop {
            Some(Note::Go) => self.kill_unstarted(),
            // The caller must get the note about the grant before the note about the loss.
            Some(_) => self.on_backstop_confirmed(),
            None => {}
        }
    }

    /// Kills the process that waits at the gate. It needs no SIGTERM, because the command has not run yet.
    pub(super) fn kill_unstarted(&mut self) {
        self.note_after_backstop = None;
        self.tree.kill_command();
    }

    /// Arms the kernel timer that kills the keeper at the end of the lease. If the lease is already over, the keeper
    /// gets a moment to end the work itself.
    pub(super) fn arm_kill_timer(&mut self) {
        if let (Some(kill_timer), Some(lease)) = (&mut self.kill_timer, self.lock.lease()) {
            let end = match self.tied_parent {
                Some(_) => lease.middle_of_kill_margin(),
                None => lease.until(),
            };
            kill_timer.set(end.max(clock::now().monotonic + KILL_TIME_MIN));
        }
    }
}
