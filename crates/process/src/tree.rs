//! A command and all that it has started, and how all of it is ended.

use std::fs::File;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};

use super::cgroup::Cgroup;
use super::group::{self, Hidden};

/// A command's processes: those of its control group, where one can be made, and those of its process
/// group. A process may leave either (`setsid`; `systemd-run --scope`, and `su -` where each session
/// has a control group of its own): what has left both is not found.
#[derive(Debug, Default)]
pub struct Tree {
    cgroup: Option<Cgroup>,
    leader: Option<Pid>,
}

impl Tree {
    /// A place for a command that is not there yet, with a control group that is called after `program` and
    /// this process, where one can be made.
    pub fn in_cgroup(program: &str) -> Self {
        Self {
            cgroup: Cgroup::make(program),
            leader: None,
        }
    }

    /// The tree of a process that leads a process group, and of a control group that it was put into, if it
    /// was; both may be another process's.
    pub fn of(leader: Pid, cgroup: Option<PathBuf>) -> Self {
        Self {
            cgroup: cgroup.map(Cgroup::at),
            leader: Some(leader),
        }
    }

    /// Where its control group is, if it has one.
    pub fn cgroup(&self) -> Option<&Path> {
        self.cgroup.as_ref().map(Cgroup::path)
    }

    /// What ends its control group if it is written to, if it has one.
    pub fn kill_file(&self) -> Option<File> {
        self.cgroup.as_ref()?.kill_file().ok()
    }

    /// Takes the leader of a process group in. It must not have started anything yet.
    pub fn adopt(&mut self, leader: Pid) {
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
    pub fn terminate(&self) {
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            for pid in self.outside_group() {
                // One that is gone already needs no signal.
                let _ = kill(pid, signal);
            }
            self.signal_group(signal);
        }
    }

    /// Ends all processes, as far as it may.
    pub fn kill(&self) -> Killed {
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
    pub fn hidden(&self) -> Hidden {
        self.leader
            .map_or(Hidden::Nothing, group::hidden_among_killed)
    }

    /// Whether no process is left, zombies aside.
    pub fn is_empty(&self) -> bool {
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
pub enum Killed {
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
pub struct Survivor(pub Option<Pid>);

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command};

    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::Pid;

    use super::{Killed, Tree};

    fn stopped_sleeper() -> (Child, Tree) {
        let child = Command::new("sleep").arg("1000").process_group(0).spawn();
        let child = child.expect("a sleeper");
        let leader = Pid::from_raw(child.id().cast_signed());
        killpg(leader, Signal::SIGSTOP).expect("it lives");
        (child, Tree::of(leader, None))
    }

    fn signal_that_ended(mut child: Child) -> Option<i32> {
        child.wait().expect("it is our child").signal()
    }

    #[test]
    fn what_is_stopped_hears_that_it_is_to_end() {
        let (child, tree) = stopped_sleeper();
        assert!(!tree.is_empty());
        tree.terminate();
        assert_eq!(signal_that_ended(child), Some(Signal::SIGTERM as i32));
        assert!(tree.is_empty());
    }

    #[test]
    fn what_is_stopped_is_killed() {
        let (child, tree) = stopped_sleeper();
        assert_eq!(tree.kill(), Killed::All);
        assert_eq!(signal_that_ended(child), Some(Signal::SIGKILL as i32));
        assert!(tree.is_empty());
    }
}
