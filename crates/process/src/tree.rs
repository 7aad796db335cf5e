//! The processes of a command: how to find them, and how to end them.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};

use super::cgroup::Cgroup;
use super::group::{self, Hidden};

/// The processes of a command. A command has a process group and, if possible, a control group. A process can leave the
/// process group with `setsid`, and the control group with `systemd-run --scope` or `su -`. This type does not find
/// processes that have left both groups.
#[derive(Debug, Default)]
pub struct Tree {
    cgroup: Option<Cgroup>,
    leader: Option<Pid>,
}

impl Tree {
    /// Creates a tree for a command that has not started. The tree has a control group if possible. The name of the
    /// control group contains `program` and this process's number.
    pub fn in_cgroup(program: &str) -> Self {
        Self {
            cgroup: Cgroup::create(program),
            leader: None,
        }
    }

    /// Creates a tree for a command that has not started, and for systemd units in the control group `cgroup`. Only the
    /// command gets SIGTERM, because systemd stops the units.
    pub fn with_units(cgroup: PathBuf) -> Self {
        Self {
            cgroup: Some(Cgroup::of_systemd(cgroup)),
            leader: None,
        }
    }

    /// Returns a tree of existing groups: the process group with this leader, and a control group if one is given. A
    /// different process may have created these groups.
    pub fn existing(leader: Pid, cgroup: Option<PathBuf>) -> Self {
        Self {
            cgroup: cgroup.map(Cgroup::at),
            leader: Some(leader),
        }
    }

    /// Returns the path of the command's own control group, if there is one.
    pub fn cgroup(&self) -> Option<&Path> {
        self.own_cgroup().map(Cgroup::path)
    }

    /// If the tree has a control group, opens the file that kills this group.
    pub fn kill_file(&self) -> Option<File> {
        self.cgroup.as_ref()?.kill_file().ok()
    }

    /// Adds the process group with this leader to the tree. At the time of this call, the leader must not have started
    /// any process.
    pub fn adopt(&mut self, leader: Pid) {
        self.leader = Some(leader);
        if self
            .own_cgroup()
            .is_some_and(|cgroup| cgroup.add(leader).is_err())
        {
            self.cgroup = None;
        }
    }

    /// Sends SIGTERM to all processes. Also sends SIGCONT, so that stopped processes can handle the signal.
    pub fn terminate(&self) {
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            for pid in self.outside_group() {
                // The call fails only if the process has ended.
                let _ = kill(pid, signal);
            }
            self.signal_group(signal);
        }
    }

    /// Kills only the command's process group.
    pub fn kill_command(&self) {
        self.signal_group(Signal::SIGKILL);
    }

    /// Kills all processes that this process may signal. If the tree has units, kills only the processes of the units.
    /// The command keeps running to stop the units, because systemd may start a killed unit again.
    pub fn kill(&self) -> Killed {
        if let Some(units) = self.cgroup.as_ref().filter(|cgroup| !cgroup.is_own()) {
            return match units.kill() {
                Ok(()) => Killed::All,
                Err(error) if error.kind() == ErrorKind::NotFound => Killed::All,
                Err(_) => Killed::AllBut(Survivor(None)),
            };
        }
        // Read the numbers of the processes before the kill, because killed processes stay in their process group for a
        // moment.
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
        // A signal to the group fails only if this process may not signal any member. So if this call fails, check each
        // member.
        let refuses = |&pid: &Pid| kill(pid, None) == Err(Errno::EPERM);
        let mut left = group::members(leader).filter(|pid| !killed.contains(pid));
        if let Some(pid) = left.find(refuses) {
            return Killed::AllBut(Survivor(Some(pid)));
        }
        match group::find_hidden_among_killed(leader) {
            Hidden::Nothing => Killed::All,
            Hidden::OutOfReach if !by_group => Killed::AllBut(Survivor(None)),
            hidden => Killed::Unknown { hidden },
        }
    }

    /// Returns the kind of processes that `/proc` may hide in the killed process group.
    pub fn find_hidden(&self) -> Hidden {
        self.leader
            .map_or(Hidden::Nothing, group::find_hidden_among_killed)
    }

    /// Whether only zombies are left.
    pub fn is_empty(&self) -> bool {
        let Some(leader) = self.leader else {
            return true;
        };
        self.cgroup.as_ref().is_none_or(Cgroup::is_empty) && group::is_empty(leader)
    }

    fn own_cgroup(&self) -> Option<&Cgroup> {
        self.cgroup.as_ref().filter(|cgroup| cgroup.is_own())
    }

    /// Returns the processes that left the process group, but not the control group.
    fn outside_group(&self) -> Vec<Pid> {
        let mut processes = self.own_cgroup().map_or_else(Vec::new, Cgroup::processes);
        processes.retain(|&pid| getpgid(Some(pid)).ok() != self.leader);
        processes
    }

    /// Signals the whole process group in one step. Separate signals to the members would miss a process that is just
    /// being created.
    fn signal_group(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // The call fails only if all processes of the group have ended.
            let _ = killpg(leader, signal);
        }
    }
}

/// The outcome of [`Tree::kill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Killed {
    /// All processes were killed. `/proc` may still show some of them for a moment.
    All,
    /// At least one process cannot be killed.
    AllBut(Survivor),
    /// The outcome is unknown until the killed processes disappear, because `/proc` does not show all processes.
    Unknown {
        /// The kind of the hidden processes, as far as it is known.
        hidden: Hidden,
    },
}

/// A process that cannot be killed, with its number if `/proc` shows the process. The process runs as another user,
/// usually root, and is in no control group that this process can kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survivor(pub Option<Pid>);

#[cfg(test)]
mod tests {
    use std::process::Child;

    use nix::sys::signal::{Signal, killpg};

    use super::{Killed, Tree};
    use crate::test_processes::{signal_that_ended, sleeper};

    fn stopped_sleeper() -> (Child, Tree) {
        let (child, leader) = sleeper();
        killpg(leader, Signal::SIGSTOP).expect("it lives");
        (child, Tree::existing(leader, None))
    }

    #[test]
    fn a_stopped_process_gets_sigterm() {
        let (child, tree) = stopped_sleeper();
        assert!(!tree.is_empty());
        tree.terminate();
        assert_eq!(signal_that_ended(child), Some(Signal::SIGTERM as i32));
        assert!(tree.is_empty());
    }

    #[test]
    fn a_stopped_process_is_killed() {
        let (child, tree) = stopped_sleeper();
        assert_eq!(tree.kill(), Killed::All);
        assert_eq!(signal_that_ended(child), Some(Signal::SIGKILL as i32));
        assert!(tree.is_empty());
    }
}
