//! Process groups: a process that leads one, and all that it has started and that has not left it.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::killpg;
use nix::unistd::Pid;

/// Whether a process group has no member but zombies.
#[must_use]
pub fn is_empty(group: Pid) -> bool {
    members(group).next().is_none()
}

/// The members of a process group, zombies aside.
pub fn members(group: Pid) -> impl Iterator<Item = Pid> {
    let is_there = killpg(group, None) != Err(Errno::ESRCH);
    let entries = is_there.then(|| fs::read_dir("/proc").into_iter().flatten().flatten());
    entries.into_iter().flatten().filter_map(move |entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        lives_in(&stat, group).then(|| Pid::from_raw(pid))
    })
}

/// Whether a process lives, and in that group, from its `/proc/PID/stat`.
fn lives_in(stat: &str, group: Pid) -> bool {
    // The name, in brackets, may hold anything.
    let Some((_, fields)) = stat.rsplit_once(") ") else {
        return false;
    };
    let mut fields = fields.split(' ');
    let (state, process_group) = (fields.next(), fields.nth(1));
    !matches!(state, Some("Z" | "X")) && process_group == Some(group.to_string().as_str())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::Pid;

    use super::{is_empty, lives_in};

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
    fn a_name_with_brackets_and_spaces_hides_nothing() {
        let group = Pid::from_raw(42);
        assert!(lives_in("7 (a) Z 1 9 (b) S 1 42 42 0", group));
        assert!(!lives_in("7 (a) Z 1 42 42 0", group));
        assert!(!lives_in("7 (a) S 42 1 42 0", group));
    }
}
