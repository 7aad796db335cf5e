//! A disk that is full.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use ring_segment::{Segment, Test, tests};

use super::watcher::Watcher;
use super::{BINARIES, PATIENCE, forbearing, ringctl};

pub fn tests() -> Vec<Test> {
    tests![a_node_that_cannot_store_its_state_owns_nothing_until_it_can]
}

/// A disk of a few pages.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(path: &Path) -> Result<Self> {
        fs::create_dir(path)?;
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", "size=64k", "none"]);
        ensure!(
            mount.arg(path).status()?.success(),
            "no tmpfs can be mounted"
        );
        Ok(Self(path.to_owned()))
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Takes all the room there is, that of the state file included.
    fn fill(&self) -> Result<()> {
        let state = self.0.join("eth0.state");
        let mut filler = File::create(self.filler())?;
        for _ in 0..1_000 {
            File::options().write(true).open(&state)?.set_len(0)?;
            while filler.write_all(&[1; 4096]).is_ok() {}
            if fs::metadata(&state)?.len() == 0 {
                return Ok(());
            }
        }
        anyhow::bail!("the daemon is always first")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn a_node_that_cannot_store_its_state_owns_nothing_until_it_can() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let folder = tempfile::tempdir()?;
    let disk = SmallDisk::new(&folder.path().join("state"))?;
    let with_disk = segment
        .node(0)
        .ringd(BINARIES)
        .timing(&forbearing())
        .option("--state-dir", &disk.0);
    let one = with_disk.spawn()?;
    let other = segment.node(1).ringd(BINARIES).timing(&forbearing());
    let other = other.spawn()?;
    let runs = |daemon, wait| ringctl(daemon, &["run", "-w", wait, "--", "true"]);
    for daemon in [&one, &other] {
        daemon.wait_for_line(PATIENCE, |line| line.contains("is up:"))?;
        let (done, said) = runs(daemon, "20")?;
        ensure!(done, "{said}");
    }

    let mut watcher = Watcher::of(&one)?;
    disk.fill()?;
    watcher.is_told("state_not_stored", "cannot be stored")?;
    one.wait_for_status(PATIENCE, |status| status["stored"] == false)?;
    let (done, said) = runs(&other, "20")?;
    ensure!(done, "{said}");
    let (done, said) = runs(&one, "1")?;
    ensure!(!done, "granted what it cannot store");
    ensure!(said.contains("cannot write its state file"), "{said}");

    fs::remove_file(disk.filler())?;
    watcher.is_told("state_stored", "can be stored again")?;
    one.wait_for_status(PATIENCE, |status| status["stored"] == true)?;
    let (done, said) = runs(&one, "20")?;
    ensure!(done, "{said}");
    Ok(())
}
