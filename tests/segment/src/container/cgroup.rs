//! A control group for a container, removed on drop.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};
use tempfile::TempDir;

/// Folder in which the sandbox mounts cgroup2. The sandbox has its own `/run`.
const MOUNT_POINT: &str = "/run/cgroup2";
const NAME_PREFIX: &str = "ringd-test-";
/// Minimum age of an empty group that counts as a leftover of a killed test.
const STALE_AFTER: Duration = Duration::from_secs(600);
/// Longest time that the kernel takes to remove ended processes from a group.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(5);

/// A control group. The processes of the group must end before this value is dropped.
#[derive(Debug)]
pub(super) struct Cgroup {
    /// The group is `Some` until this value is dropped.
    folder: Option<TempDir>,
}

impl Cgroup {
    /// Makes a group below the root of this process's cgroup namespace. The controllers are enabled in this root.
    pub(super) fn new() -> Result<Self> {
        let root = Path::new(MOUNT_POINT);
        if !root.join("cgroup.procs").exists() {
            fs::create_dir_all(root)?;
            mount(
                Some("cgroup2"),
                root,
                Some("cgroup2"),
                MsFlags::empty(),
                None::<&str>,
            )
            .context("cannot mount cgroup2: run the tests as root of the machine")?;
        }
        remove_stale(root);
        let folder = tempfile::Builder::new()
            .prefix(NAME_PREFIX)
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(root);
        let folder = folder.context(
            "cannot make a control group: if the tests run in a container, its cgroups must be writable",
        )?;
        Ok(Self {
            folder: Some(folder),
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder
            .as_ref()
            .map_or(Path::new(MOUNT_POINT), TempDir::path)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let Some(folder) = self.folder.take().map(TempDir::keep) else {
            return;
        };
        let deadline = Instant::now() + REMOVAL_TIMEOUT;
        while let Err(error) = remove(&folder) {
            if Instant::now() >= deadline {
                eprintln!("{} was left behind: {error}", folder.display());
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Removes a group with its subgroups.
fn remove(group: &Path) -> std::io::Result<()> {
    for below in below(group) {
        remove(&below)?;
    }
    match fs::remove_dir(group) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn below(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

/// Removes groups of killed tests. The kernel refuses to remove groups in use.
fn remove_stale(root: &Path) {
    for group in below(root) {
        let is_ours = group
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(NAME_PREFIX));
        let made = fs::metadata(&group).and_then(|metadata| metadata.modified());
        let is_old = made.is_ok_and(|made| {
            SystemTime::now()
                .duration_since(made)
                .is_ok_and(|age| age > STALE_AFTER)
        });
        if is_ours && is_old {
            // The group is in use, or another test is removing the group.
            let _ = remove(&group);
        }
    }
}
