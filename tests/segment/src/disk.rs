//! A disk that can be full.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// File system of a few pages, unmounted on drop.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a disk at a new path.
    pub fn new(path: &Path) -> Result<Self> {
        fs::create_dir(path).context("cannot make the mount point of a disk")?;
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", "size=64k", "none"]);
        ensure!(mount.arg(path).status()?.success(), "cannot mount a tmpfs");
        Ok(Self(path.to_owned()))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Empties `file` on the disk, and then fills all space of the disk.
    pub fn fill(&self, file: &str) -> Result<()> {
        let file = self.0.join(file);
        let mut filler = File::create(self.filler())?;
        for _ in 0..1_000 {
            File::options().write(true).open(&file)?.set_len(0)?;
            while filler.write_all(&[1; 4096]).is_ok() {}
            if fs::metadata(&file)?.len() == 0 {
                return Ok(());
            }
        }
        bail!("{} was written earlier", file.display())
    }

    /// Frees the space that [`SmallDisk::fill`] took.
    pub fn free(&self) -> Result<()> {
        fs::remove_file(self.filler()).context("cannot free a disk")
    }

    pub fn clear(&self) -> Result<()> {
        for entry in fs::read_dir(&self.0)? {
            fs::remove_file(entry?.path()).context("cannot clear a disk")?;
        }
        Ok(())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
