//! Process groups. A group consists of a leader and of the processes that the leader started, unless they left the
//! group.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::killpg;
use nix::unistd::Pid;
use rustix::process::setpriority_pgrp;

/// The largest nice value. Every process may get this value.
const NICE_MAX: i32 = 19;

/// The processes of a group that `/proc` may hide from this process. Hidden processes are not among the [`members`] of
/// the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// `/proc` hides no processes.
    Nothing,
    /// `/proc` may hide processes that this process has no permission to signal.
    OutOfReach,
    /// It is unknown whether `/proc` hides processes. It stays unknown while this process can signal at least one
    /// process of the group, even a zombie.
    Unknown,
}

/// Whether a process group contains only zombies. If `/proc` hides processes, this is `false` until the kernel reports
/// that the group no longer exists.
pub fn is_empty(group: Pid) -> bool {
    members(group).next().is_none() && find_hidden(group) == Hidden::Nothing
}

/// Finds out which processes of a group `/proc` may hide. For this purpose, it sends the group a signal that has no
/// effect.
pub fn find_hidden(group: Pid) -> Hidden {
    match killpg(group, None) {
        Err(Errno::ESRCH) => Hidden::Nothing,
        Err(_) if has_zombies_only(group) => Hidden::Nothing,
        Err(_) => Hidden::OutOfReach,
        Ok(()) if shows_all() => Hidden::Nothing,
        Ok(()) => Hidden::Unknown,
    }
}

/// Finds out which processes of a killed group `/proc` may hide. Zombies stay in such a group until their parents wait
/// for them. While the group contains zombies of this user, [`find_hidden`] may return [`Hidden::Unknown`]. So this
/// function also tries to lower the priority of the whole group. A lower priority does not harm killed processes.
pub fn find_hidden_among_killed(group: Pid) -> Hidden {
    match find_hidden(group) {
        Hidden::Unknown if has_other_users(group) => Hidden::OutOfReach,
        found => found,
    }
}

/// Whether a group contains a process of another user. Zombies count too. To find out, this function gives the group's
/// processes of this user the lowest priority.
fn has_other_users(group: Pid) -> bool {
    let group = rustix::process::Pid::from_raw(group.as_raw());
    // With the number 0, the call would change the group of this process instead.
    group.is_some() && setpriority_pgrp(group, NICE_MAX) == Err(rustix::io::Errno::PERM)
}

/// Whether `/proc` belongs to this process's PID namespace. If it belongs to an outer namespace, it shows different
/// process numbers.
fn has_same_numbers() -> bool {
    let own = fs::read_link("/proc/self");
    own.is_ok_and(|own| own.to_str() == Some(&std::process::id().to_string()))
}

/// Whether `/proc` certainly shows all processes.
fn shows_all() -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo");
    has_same_numbers() && mounts.is_ok_and(|mounts| !is_mounted_to_hide(&mounts))
}

/// Whether `/proc` is mounted with an option that hides processes. `mounts` is the contents of `/proc/self/mountinfo`.
/// If several file systems are mounted at `/proc`, the last mounted file system counts.
fn is_mounted_to_hide(mounts: &str) -> bool {
    let options = mounts.lines().rev().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        let is_there = fields.split(' ').nth(4) == Some("/proc");
        let options = kind.strip_prefix("proc ")?.split(' ').nth(1)?;
        is_there.then_some(options)
    });
    let mut options = options.unwrap_or_default().split(',');
    options.any(|option| {
        let how = option.strip_prefix("hidepid=");
        how.is_some_and(|how| !matches!(how, "0" | "off"))
    })
}

/// Returns the members of a process group that `/proc` shows, without zombies.
pub fn members(group: Pid) -> impl Iterator<Item = Pid> {
    shown_members(group).filter_map(|(pid, lives)| lives.then_some(pid))
}

/// Whether `/proc` shows at least one process of a group, and all these processes are zombies.
fn has_zombies_only(group: Pid) -> bool {
    let mut shown = shown_members(group).peekable();
    shown.peek().is_some() && !shown.any(|(_, lives)| lives)
}

/// Returns the members of a process group that `/proc` shows. The second value of each pair is `true` if the member is
/// not a zombie.
fn shown_members(group: Pid) -> impl Iterator<Item = (Pid, bool)> {
    let is_there = killpg(group, None) != Err(Errno::ESRCH) && has_same_numbers();
    let entries = is_there.then(|| fs::read_dir("/proc").into_iter().flatten().flatten());
    entries.into_iter().flatten().filter_map(move |entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        lives_in(&stat, group).map(|lives| (Pid::from_raw(pid), lives))
    })
}

/// Whether a process is not a zombie. `stat` is the contents of the process's file `/proc/PID/stat`. Returns `None` if
/// the process is not in the group.
fn lives_in(stat: &str, group: Pid) -> Option<bool> {
    // The process's name, in brackets, may contain any characters.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let (state, process_group) = (fields.next(), fields.nth(1));
    let is_in_it = process_group == Some(group.to_string().as_str());
    is_in_it.then_some(!matches!(state, Some("Z" | "X")))
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::Pid;

    use super::{is_empty, is_mounted_to_hide, lives_in};
    use crate::test_processes::sleeper;

    #[test]
    fn a_zombie_does_not_count_as_a_member() {
        let (mut child, pid) = sleeper();
        assert!(!is_empty(pid));
        killpg(pid, Signal::SIGKILL).expect("it lives");
        while !is_empty(pid) {
            std::thread::yield_now();
        }
        child.wait().expect("it is our child");
        assert!(is_empty(pid));
    }

    #[test]
    fn an_option_that_hides_processes_is_recognized() {
        let shown = "22 27 0:21 / /proc rw,relatime shared:9 - proc proc rw\n";
        let off = "22 27 0:21 / /proc rw - proc proc rw,hidepid=off\n";
        let elsewhere = "87 48 0:42 / /x/proc rw - proc proc rw,hidepid=invisible\n";
        for mounts in ["", shown, off, &format!("{shown}{elsewhere}")] {
            assert!(!is_mounted_to_hide(mounts), "{mounts}");
        }
        let over = "87 48 0:42 / /proc rw,relatime - proc proc rw,gid=4,hidepid=invisible\n";
        let old = "22 27 0:21 / /proc rw - proc proc rw,hidepid=2\n";
        for mounts in [old, &format!("{shown}{over}")] {
            assert!(is_mounted_to_hide(mounts), "{mounts}");
        }
        assert!(!is_mounted_to_hide(&format!("{over}{shown}")), "the last");
    }

    #[test]
    fn a_name_may_contain_brackets_and_spaces() {
        let group = Pid::from_raw(42);
        assert_eq!(lives_in("7 (a) Z 1 9 (b) S 1 42 42 0", group), Some(true));
        assert_eq!(lives_in("7 (a) Z 1 42 42 0", group), Some(false));
        assert_eq!(lives_in("7 (a) S 42 1 42 0", group), None);
    }
}
