//! The freezer of cgroup version 1.
//!
//! A frozen process gets no signals. A SIGKILL waits until the process is thawed. Then it ends the process before the
//! next instruction of its program. But if the process that should send the SIGKILL is frozen too, it sends the signal
//! too late. Version 2 does not have this problem, because a SIGKILL also ends a frozen process.

use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::unistd::Pid;

const FIRST_NAMESPACE: u64 = 0xEFFF_FFFB;

/// Whether this kernel has the freezer of version 1.
pub fn is_present() -> bool {
    group_of("self").is_some()
}

/// Whether this process can be frozen.
pub fn can_freeze() -> bool {
    group_of("self").is_some_and(|own| !is_root(&own))
}

/// Whether a group could freeze this process and the process `other` together. Also `false` if the groups are unknown.
pub fn can_freeze_with(other: Pid) -> bool {
    let (own, other) = (group_of("self"), group_of(&other.to_string()));
    own.zip(other).is_some_and(|(own, other)| {
        !is_root(&own) && have_common_group(&own, &other, is_in_first_namespace())
    })
}

/// Returns the freezer group of a process, relative to the root of its namespace.
fn group_of(process: &str) -> Option<String> {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    freezer_in(&groups).map(str::to_owned)
}

fn freezer_in(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers) = (fields.next()?, fields.next()?);
        let is_freezer = controllers.split(',').any(|it| it == "freezer");
        fields.next().filter(|_| is_freezer)
    })
}

/// Whether a group is the root group. The root group cannot be frozen. The root of another namespace can be frozen.
fn is_root(group: &str) -> bool {
    group == "/" && is_in_first_namespace()
}

fn is_in_first_namespace() -> bool {
    let namespace = fs::metadata("/proc/self/ns/cgroup");
    namespace.map_or(true, |namespace| namespace.ino() == FIRST_NAMESPACE)
}

/// Whether two groups have a common ancestor other than the root. The root of another namespace is also a group that
/// can be frozen.
fn have_common_group(one: &str, other: &str, in_first_namespace: bool) -> bool {
    let top = |group: &str| group.split('/').nth(1).unwrap_or_default().to_owned();
    if in_first_namespace {
        return top(one) == top(other) && !top(one).is_empty();
    }
    [one, other].iter().all(|group| top(group) != "..")
}

#[cfg(test)]
mod tests {
    use super::{freezer_in, have_common_group};

    #[test]
    fn only_a_group_of_version_1_is_found() {
        assert_eq!(
            freezer_in("7:blkio:/\n6:freezer:/box\n0::/a\n"),
            Some("/box")
        );
        assert_eq!(freezer_in("6:pids,freezer:/a:b\n"), Some("/a:b"));
        assert_eq!(freezer_in("7:blkio:/\n0::/freezer\n"), None);
    }

    #[test]
    fn groups_with_a_common_ancestor_are_recognized() {
        for (one, other, in_first, expected) in [
            ("/box", "/box", true, true),
            ("/box/a", "/box/b", true, true),
            ("/box", "/other", true, false),
            ("/box", "/", true, false),
            ("/", "/", true, false),
            ("/", "/", false, true),
            ("/a", "/b", false, true),
            ("/a", "/../b", false, false),
        ] {
            let found = have_common_group(one, other, in_first);
            assert_eq!(found, expected, "{one} {other} {in_first}");
        }
    }
}
