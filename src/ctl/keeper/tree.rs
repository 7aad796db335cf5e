//! A command and all that it has started.

use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};

use super::cgroup::Cgroup;
use crate::sys::group;

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

    /// Ends all processes.
    pub(in crate::ctl) fn kill(&self) {
        if let Some(cgroup) = &self.cgroup {
            // What cannot be ended so is still in its process group, as a rule.
            let _ = cgroup.kill();
        }
        self.signal_group(Signal::SIGKILL);
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
