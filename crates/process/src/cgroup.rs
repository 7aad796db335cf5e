//! Control groups (version 2): one of one's own, which nothing that is put into it gets out of by
//! leaving its process group or its parent, and those that other processes have made.

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

/// Where this process sees its mounts.
const MOUNTS: &str = "/proc/self/mountinfo";
/// The file of a control group that ends all processes in it if it is written to.
const KILL_FILE: &str = "cgroup.kill";

/// The most groups that processes of one number can leave behind before there are no more names.
const NAMES: u32 = 100;

/// A control group for a command and all that it starts.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Makes one below that of this process, called after `program` and this process. `None`: there is no
    /// version 2 here, no right to it, or a kernel older than 5.14, which has no `cgroup.kill`.
    pub(super) fn make(program: &str) -> Option<Self> {
        let mounts = fs::read_to_string(MOUNTS).ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::make_in(&own_path(&mounts, &own)?, program)
    }

    fn make_in(parent: &Path, program: &str) -> Option<Self> {
        // Containers may see the same groups, and have processes of the same number.
        let space = fs::metadata("/proc/self/ns/pid").ok()?.ino();
        let family = format!("{program}-{space}-");
        sweep(parent, &family);
        let names = (0..NAMES).map(|n| format!("{family}{}-{n}", std::process::id()));
        // One that is there is of a process that had this one's number before, and left something.
        let made = names.map(|name| parent.join(name)).find_map(|path| {
            let made = fs::create_dir(&path).map(|()| Self { path });
            let is_taken = |error: &io::Error| error.kind() == ErrorKind::AlreadyExists;
            (!made.as_ref().is_err_and(is_taken)).then(|| made.ok())
        });
        made.flatten()
            .filter(|made| made.path.join(KILL_FILE).exists())
    }

    /// The one at `path`, which another process made.
    pub(super) const fn at(path: PathBuf) -> Self {
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

    /// What ends all processes in it at once if it is written to.
    pub(super) fn kill_file(&self) -> io::Result<File> {
        File::options().write(true).open(self.path.join(KILL_FILE))
    }

    /// Ends all processes in it at once, also those that are just being made.
    pub(super) fn kill(&self) -> io::Result<()> {
        KillFile(self.kill_file()?).kill()
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

/// Takes away what keepers of this family, which were killed, have left empty. A keeper that lives
/// may be about to put its command into its group.
fn sweep(parent: &Path, family: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let keeper = name.to_str().and_then(|name| name.strip_prefix(family));
        let keeper = keeper.and_then(|rest| rest.split('-').next()?.parse().ok());
        if keeper.is_some_and(|pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH)) {
            // The kernel keeps one that is not empty.
            let _ = fs::remove_dir(entry.path());
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
    let [_, root, mounted_at] = unified(mounts)?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let below = Path::new(own).strip_prefix(root).ok()?;
    Some(Path::new(mounted_at).join(below))
}

/// The file system of control groups, by its device. All places where it is mounted have that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hierarchy {
    major: u32,
    minor: u32,
}

/// A `cgroup.kill` that another process has opened for writing: to write to it ends all processes of
/// the control group at once.
#[derive(Debug)]
pub struct KillFile(File);

impl Hierarchy {
    /// `None`: this process sees none.
    pub fn find() -> Option<Self> {
        Self::in_mounts(&fs::read_to_string(MOUNTS).ok()?)
    }

    fn in_mounts(mounts: &str) -> Option<Self> {
        let [device, ..] = unified(mounts)?;
        let (major, minor) = device.split_once(':')?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }

    /// The kill file that a descriptor is. Whose descriptor it is may have made it so that it is slow to tell
    /// of itself; it is not asked.
    ///
    /// # Errors
    /// The descriptor, if it is something else.
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
    /// Ends all processes of the control group.
    ///
    /// # Errors
    /// The file was not opened for writing, or the group is gone.
    pub fn kill(&self) -> io::Result<()> {
        (&self.0).write_all(b"1")
    }
}

/// The device of the first mount of version 2, what of the file system is mounted there, and where.
fn unified(mounts: &str) -> Option<[&str; 3]> {
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

    use super::{Cgroup, Hierarchy, own_path, sweep};

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
    fn the_group_of_a_namesake_is_left_alone() {
        let parent = tempfile::tempdir().expect("a directory");
        let space = fs::metadata("/proc/self/ns/pid")
            .expect("Linux has it")
            .ino();
        let first = format!("ringctl-{space}-{}-0", process::id());
        fs::create_dir(parent.path().join(&first)).expect("made");
        // What was made here has no files in it, as that of an old kernel.
        assert!(Cgroup::make_in(parent.path(), "ringctl").is_none());
        assert!(parent.path().join(&first).exists());
    }

    #[test]
    fn what_dead_keepers_of_the_own_family_left_is_swept_away_if_it_is_empty() {
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
        sweep(parent.path(), "ringctl-7-");
        assert!(!left.exists());
        for kept in kept {
            assert!(kept.exists(), "{}", kept.display());
        }
    }

    #[test]
    fn what_is_not_within_the_mount_is_not_found() {
        assert_eq!(own_path(HYBRID, "0::/other\n"), None);
        assert_eq!(own_path(UNIFIED, "8:pids:/x\n"), None);
        assert_eq!(own_path("", "0::/\n"), None);
    }

    #[test]
    fn the_hierarchy_of_version_2_is_found_by_its_device() {
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
    fn a_file_of_that_name_elsewhere_is_nothing_to_be_written_to() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = File::create(directory.path().join("cgroup.kill")).expect("a file");
        let elsewhere = Hierarchy {
            major: u32::MAX,
            minor: 0,
        };
        assert!(elsewhere.kill_file(file.into()).is_err());
    }
}
