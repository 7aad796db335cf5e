//! Control groups (version 2) that other processes have made.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, StatxFlags, statx};

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
    #[must_use]
    pub fn find() -> Option<Self> {
        Self::in_mounts(&fs::read_to_string("/proc/self/mountinfo").ok()?)
    }

    fn in_mounts(mounts: &str) -> Option<Self> {
        mounts.lines().find_map(|line| {
            let (fields, kind) = line.split_once(" - ")?;
            let device = fields.split(' ').nth(2)?;
            let (major, minor) = device.split_once(':')?;
            let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
            let is_unified = kind.starts_with("cgroup2 ");
            is_unified.then_some(Self { major, minor })
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
            path.is_ok_and(|path| path.file_name() == Some(OsStr::new("cgroup.kill")))
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

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::Hierarchy;

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
