//! Process groups: a process that leads one, and all that it has started and that has not left it.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::killpg;
use nix::unistd::Pid;
use rustix::process::setpriority_pgrp;

/// The nice value that each process may be given.
const LEAST_SHARE: i32 = 19;

/// What may be in a process group beside the [`members`] that `/proc` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// Nothing: it shows all.
    Nothing,
    /// Processes that this one may not signal.
    OutOfReach,
    /// That is not told as long as there is a process that this one may signal, be it a zombie.
    Unknown,
}

/// Whether a process group has no member but zombies. Where `/proc` does not show all processes it has one for
/// as long as the kernel says so, be it a zombie.
pub fn is_empty(group: Pid) -> bool {
    members(group).next().is_none() && hidden(group) == Hidden::Nothing
}

/// What may be in a process group that `/proc` does not show. The kernel is asked, by a signal that does
/// nothing.
pub fn hidden(group: Pid) -> Hidden {
    match killpg(group, None) {
        Err(Errno::ESRCH) => Hidden::Nothing,
        Err(_) if has_zombies_only(group) => Hidden::Nothing,
        Err(_) => Hidden::OutOfReach,
        Ok(()) if shows_all() => Hidden::Nothing,
        Ok(()) => Hidden::Unknown,
    }
}

/// The same of a group that was killed, be there zombies of this user's in it: those that nobody waits for
/// stay. The kernel says it when it is to take the CPU from all of the group, which harms nobody there now.
pub fn hidden_among_killed(group: Pid) -> Hidden {
    match hidden(group) {
        Hidden::Unknown if has_others(group) => Hidden::OutOfReach,
        found => found,
    }
}

/// Whether a group has a process of another user, zombies included. All others have the least share of the
/// CPU from then on.
fn has_others(group: Pid) -> bool {
    let group = rustix::process::Pid::from_raw(group.as_raw());
    // Of no group it would be the own one.
    group.is_some() && setpriority_pgrp(group, LEAST_SHARE) == Err(rustix::io::Errno::PERM)
}

/// Whether `/proc` numbers processes as this one's calls do: it may be the one of a namespace above.
fn numbers_alike() -> bool {
    let own = fs::read_link("/proc/self");
    own.is_ok_and(|own| own.to_str() == Some(&std::process::id().to_string()))
}

/// Whether `/proc` is known to show all processes.
fn shows_all() -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo");
    numbers_alike() && mounts.is_ok_and(|mounts| !is_mounted_to_hide(&mounts))
}

/// Whether `/proc` is mounted so that it hides processes from some users, from what `/proc/self/mountinfo`
/// says. Of what is mounted in one place the last counts.
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

/// The members of a process group that `/proc` shows, zombies aside.
pub fn members(group: Pid) -> impl Iterator<Item = Pid> {
    shown(group).filter_map(|(pid, lives)| lives.then_some(pid))
}

/// Whether `/proc` shows members of a group, and all of them are zombies.
fn has_zombies_only(group: Pid) -> bool {
    let mut shown = shown(group).peekable();
    shown.peek().is_some() && !shown.any(|(_, lives)| lives)
}

/// The members of a process group that `/proc` shows, and whether they live.
fn shown(group: Pid) -> impl Iterator<Item = (Pid, bool)> {
    let is_there = killpg(group, None) != Err(Errno::ESRCH) && numbers_alike();
    let entries = is_there.then(|| fs::read_dir("/proc").into_iter().flatten().flatten());
    entries.into_iter().flatten().filter_map(move |entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        lives_in(&stat, group).map(|lives| (Pid::from_raw(pid), lives))
    })
}

/// Whether a process lives, from its `/proc/PID/stat`; `None`: it is not in that group.
fn lives_in(stat: &str, group: Pid) -> Option<bool> {
    // The name, in brackets, may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let (state, process_group) = (fields.next(), fields.nth(1));
    let is_in_it = process_group == Some(group.to_string().as_str());
    is_in_it.then_some(!matches!(state, Some("Z" | "X")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::Pid;

    use super::{is_empty, is_mounted_to_hide, lives_in};

    #[test]
    fn a_zombie_is_no_living_member_of_its_group() {
        let child = Command::new("sleep").arg("1000").process_group(0).spawn();
        let mut child = child.expect("a sleeper");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
        assert!(!is_empty(pid));
        killpg(pid, Signal::SIGKILL).expect("it lives");
        while !is_empty(pid) {
            std::thread::yield_now();
        }
        child.wait().expect("it is our child");
        assert!(is_empty(pid));
    }

    #[test]
    fn where_proc_hides_processes_is_seen_from_its_mount() {
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
    fn a_name_with_brackets_and_spaces_hides_nothing() {
        let group = Pid::from_raw(42);
        assert_eq!(lives_in("7 (a) Z 1 9 (b) S 1 42 42 0", group), Some(true));
        assert_eq!(lives_in("7 (a) Z 1 42 42 0", group), Some(false));
        assert_eq!(lives_in("7 (a) S 42 1 42 0", group), None);
    }
}
