//! A command and all that it has started.

use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};

use super::cgroup::Cgroup;
use crate::sys::group;

/// A command's processes: those of its control group where one can be made, else those of its
/// process group.
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
            match (&self.cgroup, self.leader) {
                (Some(cgroup), leader) => tell(&cgroup.processes(), leader, signal),
                // One that is gone already needs no signal.
                (None, Some(leader)) => {
                    let _ = killpg(leader, signal);
                }
                (None, None) => {}
            }
        }
    }

    /// Ends all processes.
    pub(in crate::ctl) fn kill(&self) {
        if self
            .cgroup
            .as_ref()
            .is_some_and(|cgroup| cgroup.kill().is_ok())
        {
            return;
        }
        if let Some(leader) = self.leader {
            let _ = killpg(leader, Signal::SIGKILL);
        }
    }

    /// Whether no process is left, zombies aside.
    pub(super) fn is_empty(&self) -> bool {
        match (&self.cgroup, self.leader) {
            (_, None) => true,
            (Some(cgroup), _) => cgroup.is_empty(),
            (None, Some(leader)) => group::is_empty(leader),
        }
    }
}

/// Signals the process group of the leader as one, since only so is none missed that one of it is
/// just making, and those that have left it each.
fn tell(processes: &[Pid], leader: Option<Pid>, signal: Signal) {
    let is_in_group = |&pid: &Pid| leader.is_some() && getpgid(Some(pid)).ok() == leader;
    let (grouped, left): (Vec<_>, Vec<_>) = processes.iter().copied().partition(is_in_group);
    // One that is gone already needs no signal.
    if let Some(leader) = leader.filter(|_| !grouped.is_empty()) {
        let _ = killpg(leader, signal);
    }
    for pid in left {
        let _ = kill(pid, signal);
    }
}
