//! A node with a full disk.

use anyhow::{Result, ensure};
use ring_segment::{Segment, SmallDisk, Test, binaries, tests};

use super::watcher::Watcher;
use super::{WAIT_LIMIT, ringctl, stall_tolerant_timing};

pub(super) fn tests() -> Vec<Test> {
    tests![a_node_that_cannot_store_its_state_owns_no_token_until_it_can]
}

fn a_node_that_cannot_store_its_state_owns_no_token_until_it_can() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let folder = tempfile::tempdir()?;
    let disk = SmallDisk::new(&folder.path().join("state"))?;
    let with_disk = segment
        .node(0)
        .ringd(binaries())
        .timing(&stall_tolerant_timing())
        .option("--state-dir", disk.path());
    let one = with_disk.spawn()?;
    let other = segment
        .node(1)
        .ringd(binaries())
        .timing(&stall_tolerant_timing());
    let other = other.spawn()?;
    let runs = |daemon, wait| ringctl(daemon, &["run", "-w", wait, "--", "true"]);
    for daemon in [&one, &other] {
        daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("is up:"))?;
        let (done, text) = runs(daemon, "20")?;
        ensure!(done, "{text}");
    }

    let mut watcher = Watcher::of(&one)?;
    disk.fill("eth0.state")?;
    watcher.expect_report("state_not_stored", "cannot write the state file")?;
    one.wait_for_status(WAIT_LIMIT, |status| status["stored"] == false)?;
    let (done, text) = runs(&other, "20")?;
    ensure!(done, "{text}");
    let (done, text) = runs(&one, "1")?;
    ensure!(!done, "a token was granted although it cannot be stored");
    ensure!(text.contains("cannot write its state file"), "{text}");

    disk.free()?;
    watcher.expect_report("state_stored", "can be written again")?;
    one.wait_for_status(WAIT_LIMIT, |status| status["stored"] == true)?;
    let (done, text) = runs(&one, "20")?;
    ensure!(done, "{text}");
    Ok(())
}
