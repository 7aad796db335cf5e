//! A control group (version 2) of one's own, which nothing that is put into it gets out of by
//! leaving its process group or its parent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::Pid;

/// A control group for a command and all that it starts.
#[derive(Debug)]
pub(in crate::ctl) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Makes one below that of this process, called after this process. `None`: there is no
    /// version 2 here, no right to it, or a kernel older than 5.14, which has no `cgroup.kill`.
    pub(super) fn make() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = own_path(&mounts, &own)?.join(format!("ringctl-{}", std::process::id()));
        // One of that name is of a process that had this one's number before.
        let _ = fs::remove_dir(&path);
        fs::create_dir(&path).ok()?;
        let made = Self { path };
        made.path.join("cgroup.kill").exists().then_some(made)
    }

    /// The one at `path`, which another process made.
    pub(in crate::ctl) const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts a process into it.
    pub(super) fn add(&self, pid: Pid) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), pid.to_string())
    }

    /// The processes in it, and in those below.
    pub(super) fn processes(&self) -> Vec<Pid> {
        let mut found = Vec::new();
        for group in groups(&self.path) {
            let listed = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            found.extend(
                listed
                    .lines()
                    .filter_map(|pid| pid.parse().ok().map(Pid::from_raw)),
            );
        }
        found
    }

    /// Whether no process is left, zombies aside.
    pub(super) fn is_empty(&self) -> bool {
        fs::read_to_string(self.path.join("cgroup.events"))
            .is_ok_and(|events| events.lines().any(|line| line == "populated 0"))
    }

    /// Ends all processes in it at once, also those that are just being made.
    pub(super) fn kill(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.kill"), "1")
    }
}

impl Drop for Cgroup {
    /// Takes it away if it is empty.
    fn drop(&mut self) {
        for group in groups(&self.path).iter().rev() {
            let _ = fs::remove_dir(group);
        }
    }
}

/// The group and all below, each after the one above it.
fn groups(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![path.to_owned()];
    let mut next = 0;
    while let Some(group) = found.get(next) {
        let entries = fs::read_dir(group).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let below: Vec<_> = below.map(|entry| entry.path()).collect();
        found.extend(below);
        next += 1;
    }
    found
}

/// Where the group of this process is in the file system, from what `/proc/self/mountinfo` and
/// `/proc/self/cgroup` say.
fn own_path(mounts: &str, own: &str) -> Option<PathBuf> {
    let (root, mounted_at) = mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        kind.starts_with("cgroup2 ").then_some((root, at))
    })?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let below = Path::new(own).strip_prefix(root).ok()?;
    Some(Path::new(mounted_at).join(below))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::own_path;

    const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
    const HYBRID: &str = "\
        39 30 0:35 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
        40 30 0:36 /box /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_own_group_is_found_where_version_2_is_mounted() {
        let found = own_path(UNIFIED, "0::/user.slice/a\n");
        assert_eq!(found, Some(PathBuf::from("/sys/fs/cgroup/user.slice/a")));
        let found = own_path(HYBRID, "8:pids:/x\n0::/box/b\n");
        assert_eq!(found, Some(PathBuf::from("/sys/fs/cgroup/unified/b")));
    }

    #[test]
    fn what_is_not_within_the_mount_is_not_found() {
        assert_eq!(own_path(HYBRID, "0::/other\n"), None);
        assert_eq!(own_path(UNIFIED, "8:pids:/x\n"), None);
        assert_eq!(own_path("", "0::/\n"), None);
    }
}
