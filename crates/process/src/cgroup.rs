//! Control groups (version 2): the group of a command, and the groups of other processes. A process stays in its
//! control group even if it changes its process group or its parent.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use rustix::fs::{AtFlags, StatxFlags, statx};

const MOUNTS: &str = "/proc/self/mountinfo";
/// Name of a file in each control group. A write to this file kills all processes of the group.
const KILL_FILE: &str = "cgroup.kill";

/// Name of the file in each control group that lists its processes. A write of a number moves a process into the group.
const MEMBERS_FILE: &str = "cgroup.procs";

/// Maximum number of names that are tried for a group. Earlier processes with the same number may have left groups
/// behind. Each such group uses one name.
const LEFT_GROUPS_MAX: u32 = 100;

/// A control group for a command and all processes that the command starts.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
    /// Whether this process or its keeper created the group. The other groups belong to systemd.
    is_own: bool,
}

impl Cgroup {
    /// Creates a group below the group of this process. The name contains `program` and the number of this process.
    /// Returns `None` if there is no version 2, if the process has no permission, or if the kernel has no `cgroup.kill`
    /// (before 5.14).
    pub(super) fn create(program: &str) -> Option<Self> {
        let mounts = fs::read_to_string(MOUNTS).ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::create_in(&own_path(&mounts, &own)?, program)
    }

    fn create_in(parent: &Path, program: &str) -> Option<Self> {
        // The name contains the PID namespace, because two containers may see the same groups and have processes with
        // the same number.
        let namespace = fs::metadata("/proc/self/ns/pid").ok()?.ino();
        let name_prefix = format!("{program}-{namespace}-");
        remove_left_groups(parent, &name_prefix);
        let names =
            (0..LEFT_GROUPS_MAX).map(|n| format!("{name_prefix}{}-{n}", std::process::id()));
        // An existing group comes from an earlier process with this number. Some processes of that group still exist.
        let made = names.map(|name| parent.join(name)).find_map(|path| {
            let made = fs::create_dir(&path).map(|()| Self { path, is_own: true });
            let is_taken = |error: &io::Error| error.kind() == ErrorKind::AlreadyExists;
            (!made.as_ref().is_err_and(is_taken)).then(|| made.ok())
        });
        made.flatten()
            .filter(|made| made.path.join(KILL_FILE).exists())
    }

    /// Returns a group that the keeper created.
    pub(super) const fn at(path: PathBuf) -> Self {
        Self { path, is_own: true }
    }

    /// Returns a group of systemd.
    pub(super) const fn of_systemd(path: PathBuf) -> Self {
        Self {
            path,
            is_own: false,
        }
    }

    pub(super) const fn is_own(&self) -> bool {
        self.is_own
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a process, unless the process [started in the group](super::spawn_in_cgroup).
    pub(super) fn add(&self, pid: Pid) -> io::Result<()> {
        if members(&self.path).contains(&pid) {
            return Ok(());
        }
        fs::write(self.path.join(MEMBERS_FILE), pid.to_string())
    }

    /// Returns the processes in the group and in the groups below it.
    pub(super) fn processes(&self) -> Vec<Pid> {
        let groups = groups_below(&self.path);
        groups.iter().flat_map(|group| members(group)).collect()
    }

    /// Whether the group has no processes except zombies.
    pub(super) fn is_empty(&self) -> bool {
        fs::read_to_string(self.path.join("cgroup.events"))
            .is_ok_and(|events| events.lines().any(|line| line == "populated 0"))
    }

    pub(super) fn kill_file(&self) -> io::Result<File> {
        File::options().write(true).open(self.path.join(KILL_FILE))
    }

    /// Kills all processes of the group at once, even processes that are just being created.
    pub(super) fn kill(&self) -> io::Result<()> {
        KillFile(self.kill_file()?).kill()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if !self.is_own {
            return;
        }
        for group in groups_below(&self.path).iter().rev() {
            let _ = fs::remove_dir(group);
        }
    }
}

/// Returns the processes in a group, without those in the groups below it.
fn members(group: &Path) -> Vec<Pid> {
    let listed = fs::read_to_string(group.join(MEMBERS_FILE)).unwrap_or_default();
    let pids = listed.lines().filter_map(|pid| pid.parse().ok());
    pids.map(Pid::from_raw).collect()
}

/// Removes the empty groups with this prefix that killed keepers have left. Does not remove the group of a living
/// keeper, because this keeper may be about to put a command into its group.
fn remove_left_groups(parent: &Path, name_prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let keeper = name
            .to_str()
            .and_then(|name| name.strip_prefix(name_prefix));
        let keeper = keeper.and_then(|rest| rest.split('-').next()?.parse().ok());
        if keeper.is_some_and(|pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH)) {
            // The kernel refuses to remove a group that is not empty.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns a group and all groups below it. Each group comes after its parent.
fn groups_below(path: &Path) -> Vec<PathBuf> {
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

/// Returns the directory of a control group. `group` is the property `ControlGroup` of a unit. Returns `None` if this
/// process cannot kill the processes of the group, or if there is no such group.
pub fn killable_group(group: &Path) -> Option<PathBuf> {
    let mounts = fs::read_to_string(MOUNTS).ok()?;
    let [_, _, mounted_at] = unified_mount(&mounts)?;
    let path = Path::new(mounted_at).join(group.strip_prefix("/").ok()?);
    let kill_file = File::options().write(true).open(path.join(KILL_FILE));
    kill_file.is_ok().then_some(path)
}

/// Returns the path of this process's group, from the contents of `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn own_path(mounts: &str, own: &str) -> Option<PathBuf> {
    let [_, root, mounted_at] = unified_mount(mounts)?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let below = Path::new(own).strip_prefix(root).ok()?;
    Some(Path::new(mounted_at).join(below))
}

/// The file system of control groups, identified by its device. All mounts of this file system have the same device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hierarchy {
    major: u32,
    minor: u32,
}

/// A file `cgroup.kill` that another process opened for writing. A write to this file kills all processes of the
/// control group at once.
#[derive(Debug)]
pub struct KillFile(File);

impl Hierarchy {
    /// Finds the file system; `None` if it is invisible for this process.
    pub fn find() -> Option<Self> {
        Self::in_mounts(&fs::read_to_string(MOUNTS).ok()?)
    }

    fn in_mounts(mounts: &str) -> Option<Self> {
        let [device, ..] = unified_mount(mounts)?;
        let (major, minor) = device.split_once(':')?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }

    /// Converts a descriptor into a kill file. The function makes no call that its file system must answer, because a
    /// client may pass a descriptor of a slow file system.
    ///
    /// # Errors
    /// Returns the descriptor if it is not a `cgroup.kill`.
    pub fn kill_file(self, descriptor: OwnedFd) -> Result<KillFile, OwnedFd> {
        if self.has_kill_file(&descriptor) {
            Ok(KillFile(descriptor.into()))
        } else {
            Err(descriptor)
        }
    }

    fn has_kill_file(self, descriptor: &OwnedFd) -> bool {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let known = statx(descriptor, "", flags, StatxFlags::empty());
        let is_here =
            known.is_ok_and(|it| (it.stx_dev_major, it.stx_dev_minor) == (self.major, self.minor));
        is_here && {
            let path = fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd()));
            path.is_ok_and(|path| path.file_name() == Some(OsStr::new(KILL_FILE)))
        }
    }
}

impl KillFile {
    /// Kills all processes of the control group.
    ///
    /// # Errors
    /// Fails if the file was not opened for writing, or if the group was removed.
    pub fn kill(&self) -> io::Result<()> {
        (&self.0).write_all(b"1")
    }
}

/// Finds the first mount of version 2 in the contents of `/proc/self/mountinfo`. Returns the device, the root within
/// the file system, and the mount point.
fn unified_mount(mounts: &str) -> Option<[&str; 3]> {
    mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(2);
        let found = [fields.next()?, fields.next()?, fields.next()?];
        kind.starts_with("cgroup2 ").then_some(found)
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;
    use std::process::{self, Command};

    use nix::unistd::Pid;

    use super::{Cgroup, Hierarchy, own_path, remove_left_groups};

    const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
    const HYBRID: &str = "\
        39 30 0:35 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
        40 30 0:36 /box /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_group_of_this_process_is_found() {
        let found = own_path(UNIFIED, "0::/user.slice/a\n");
        assert_eq!(found, Some(PathBuf::from("/sys/fs/cgroup/user.slice/a")));
        let found = own_path(HYBRID, "8:pids:/x\n0::/box/b\n");
        assert_eq!(found, Some(PathBuf::from("/sys/fs/cgroup/unified/b")));
    }

    #[test]
    fn a_group_with_the_same_name_is_kept() {
        let parent = tempfile::tempdir().expect("a directory");
        let namespace = fs::metadata("/proc/self/ns/pid")
            .expect("Linux has it")
            .ino();
        let first = format!("ringctl-{namespace}-{}-0", process::id());
        fs::create_dir(parent.path().join(&first)).expect("made");
        // Like the group of an old kernel, a plain directory has no `cgroup.kill`.
        assert!(Cgroup::create_in(parent.path(), "ringctl").is_none());
        assert!(parent.path().join(&first).exists());
    }

    #[test]
    fn empty_groups_of_dead_keepers_are_removed() {
        let mut dead = Command::new("true").spawn().expect("a process");
        dead.wait().expect("it is our child");
        let (dead, own) = (dead.id(), process::id());
        let parent = tempfile::tempdir().expect("a directory");
        let path = |name: String| parent.path().join(name);
        let left = path(format!("ringctl-7-{dead}-0"));
        let kept = [
            path(format!("ringctl-7-{own}-0")),
            path(format!("ringctl-8-{dead}-0")),
            path(format!("ringctl-7-{dead}-1")),
            path("another".to_owned()),
        ];
        for made in kept.iter().chain([&left]) {
            fs::create_dir(made).expect("made");
        }
        fs::create_dir(kept[2].join("full")).expect("made");
        remove_left_groups(parent.path(), "ringctl-7-");
        assert!(!left.exists());
        for kept in kept {
            assert!(kept.exists(), "{}", kept.display());
        }
    }

    /// A move into a group takes some 20 ms.
    #[test]
    fn a_member_is_not_moved() {
        let folder = tempfile::tempdir().expect("a directory");
        let listed = folder.path().join("cgroup.procs");
        fs::write(&listed, "41\n42\n").expect("written");
        let group = Cgroup::of_systemd(folder.path().to_owned());
        for (pid, then) in [(42, "41\n42\n"), (4, "4")] {
            group.add(Pid::from_raw(pid)).expect("a file");
            assert_eq!(fs::read_to_string(&listed).expect("a file"), then);
        }
    }

    #[test]
    fn a_group_outside_the_mount_is_not_found() {
        assert_eq!(own_path(HYBRID, "0::/other\n"), None);
        assert_eq!(own_path(UNIFIED, "8:pids:/x\n"), None);
        assert_eq!(own_path("", "0::/\n"), None);
    }

    #[test]
    fn the_device_of_version_2_is_found() {
        let mounts = "\
            39 30 0:35 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n";
        let found = Hierarchy::in_mounts(mounts);
        assert_eq!(
            found,
            Some(Hierarchy {
                major: 0,
                minor: 38
            })
        );
        assert_eq!(
            Hierarchy::in_mounts("22 27 0:21 / /proc rw - proc proc rw\n"),
            None
        );
    }

    #[test]
    fn a_file_of_that_name_elsewhere_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = File::create(directory.path().join("cgroup.kill")).expect("a file");
        let elsewhere = Hierarchy {
            major: u32::MAX,
            minor: 0,
        };
        assert!(elsewhere.kill_file(file.into()).is_err());
    }
}
