//! A command and all that it has started.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};

use super::cgroup::Cgroup;
use crate::sys::group::{self, Hidden};

/// A command's processes: those of its control group, where one can be made, and those of its process
/// group. A process may leave either (`setsid`; `systemd-run --scope`, and `su -` where each session
/// has a control group of its own): what has left both is not found.
#[derive(Debug, Default)]
pub(in crate::ctl) struct Tree {
    cgroup: Option<Cgroup>,
    leader: Option<Pid>,
}

impl Tree {
    /// A place for a command that is not there yet.
    pub(super) fn new() -> Self {
        Self {
            cgroup: Cgroup::make(),
            leader: None,
        }
    }

    /// The tree that another process has made.
    pub(in crate::ctl) fn of(leader: Pid, cgroup: Option<PathBuf>) -> Self {
        Self {
            cgroup: cgroup.map(Cgroup::at),
            leader: Some(leader),
        }
    }

    /// Where its control group is, if it has one.
    pub(super) fn cgroup(&self) -> Option<&Path> {
        self.cgroup.as_ref().map(Cgroup::path)
    }

    /// What ends its control group if it is written to, if it has one.
    pub(super) fn kill_file(&self) -> Option<File> {
        self.cgroup.as_ref()?.kill_file().ok()
    }

    /// Takes the leader of a process group in. It must not have started anything yet.
    pub(super) fn adopt(&mut self, leader: Pid) {
        self.leader = Some(leader);
        if self
            .cgroup
            .as_ref()
            .is_some_and(|cgroup| cgroup.add(leader).is_err())
        {
            self.cgroup = None;
        }
    }

    /// Tells all processes to end. Those that are stopped are woken up to hear it.
    pub(super) fn terminate(&self) {
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            for pid in self.outside_group() {
                // One that is gone already needs no signal.
                let _ = kill(pid, signal);
            }
            self.signal_group(signal);
        }
    }

    /// Ends all processes, as far as it may.
    pub(in crate::ctl) fn kill(&self) -> Killed {
        // Those that die of it are in their process group a little longer.
        let killed = self.cgroup.as_ref().and_then(|cgroup| {
            let processes = cgroup.processes();
            cgroup.kill().is_ok().then_some(processes)
        });
        self.signal_group(Signal::SIGKILL);
        let Some(leader) = self.leader else {
            return Killed::All;
        };
        let by_group = killed.is_some();
        let killed = killed.unwrap_or_default();
        // The group as one refuses only if none of it may be signalled.
        let refuses = |&pid: &Pid| kill(pid, None) == Err(Errno::EPERM);
        let mut left = group::members(leader).filter(|pid| !killed.contains(pid));
        if let Some(pid) = left.find(refuses) {
            return Killed::AllBut(Survivor(Some(pid)));
        }
        match group::hidden_among_killed(leader) {
            Hidden::Nothing => Killed::All,
            Hidden::OutOfReach if !by_group => Killed::AllBut(Survivor(None)),
            hidden => Killed::Unknown { hidden },
        }
    }

    /// What may be left of the process group, which was killed, that `/proc` does not show.
    pub(in crate::ctl) fn hidden(&self) -> Hidden {
        self.leader
            .map_or(Hidden::Nothing, group::hidden_among_killed)
    }

    /// Whether no process is left, zombies aside.
    pub(super) fn is_empty(&self) -> bool {
        let Some(leader) = self.leader else {
            return true;
        };
        self.cgroup.as_ref().is_none_or(Cgroup::is_empty) && group::is_empty(leader)
    }

    /// The processes that have left the process group, but not the control group.
    fn outside_group(&self) -> Vec<Pid> {
        let mut processes = self
            .cgroup
            .as_ref()
            .map_or_else(Vec::new, Cgroup::processes);
        processes.retain(|&pid| getpgid(Some(pid)).ok() != self.leader);
        processes
    }

    /// Signals the process group as one, since only so is none missed that one of it is just making.
    fn signal_group(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // One that is gone already needs no signal.
            let _ = killpg(leader, signal);
        }
    }
}

/// How far [`Tree::kill`] has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ctl) enum Killed {
    /// To the end: what still seems to be there is on its way out.
    All,
    /// This one may not be ended.
    AllBut(Survivor),
    /// It shows when those that die of it are gone: `/proc` does not show all.
    Unknown {
        /// What is known of the rest.
        hidden: Hidden,
    },
}

/// A process that may not be ended, by its number if `/proc` shows it: it has become another user, root
/// as a rule, and is in no control group of this user's, which would not ask for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ctl) struct Survivor(pub(in crate::ctl) Option<Pid>);

/// What is to be said of it.
pub(in crate::ctl) fn out_of_reach(survivor: Survivor) -> String {
    let what = survivor.0.map_or_else(
        || "a process of the command".to_owned(),
        |pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("process {pid} ({})", name.trim_end().escape_debug())
        },
    );
    format!(
        "{what} cannot be ended, since it runs as another user: it works on. Let ringctl be \
         that user too: sudo ringctl run -- CMD, not ringctl run -- sudo CMD"
    )
}
