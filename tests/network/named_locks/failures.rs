//! Daemons that are killed while programs hold named locks.

use anyhow::{Context, Result, ensure};
use ring_segment::{Layout, Ring, Test, Timing, binaries, tests};
use std::fs;
use std::time::Duration;

use super::{LOST_CODE, Marks, text, wait_for_counts};

/// A lease lasts for 1.6 s, and a new owner exists within 0.8 s.
const HEARTBEAT: Duration = Duration::from_millis(100);
/// Options of a lock whose holder is known to a majority.
const QUORUM: &[&str] = &["-r", "quorum"];
/// A command that ignores SIGTERM, and continuously writes the time to the file whose name follows.
const STUBBORN: &str = "trap '' TERM; echo ready; while :; do date +%s%N; sleep 0.01; done >";

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_next_holder_starts_after_the_end_of_a_holder_whose_daemon_was_killed,
        a_held_lock_survives_the_end_of_the_token_owner,
        a_restart_of_another_daemon_harms_no_lock,
    ]
}

fn form() -> Result<Ring> {
    let timing = Timing::stall_tolerant(HEARTBEAT).idle_hold(HEARTBEAT);
    let segment = Layout::new(3).addresses().bridge()?;
    let ring = Ring::start(segment, 3, timing, binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

fn the_next_holder_starts_after_the_end_of_a_holder_whose_daemon_was_killed() -> Result<()> {
    let marks = Marks::new()?;
    for options in [&[][..], QUORUM] {
        let mut ring = form()?;
        let times = marks.path("times");
        let line = format!("{STUBBORN} {}", text(&times)?);
        let mut first = marks.start(&ring.daemons[0], "lock", options, &line)?;
        first.expect_line("ready")?;
        let mut next = marks.start(&ring.daemons[1], "lock", options, "date +%s%N")?;
        wait_for_counts(&ring.daemons[2], "lock", 1, 1)?;
        ring.daemons[0].kill()?;
        first.expect_code(LOST_CODE)?;
        let began: u64 = next.line().parse()?;
        next.expect_code(0)?;
        let times = fs::read_to_string(&times)?;
        let last: u64 = times.lines().last().context("it worked")?.parse()?;
        ensure!(
            last < began,
            "the first command ended at {last}, after {began}"
        );
        wait_for_counts(&ring.daemons[2], "lock", 0, 0)?;
    }
    Ok(())
}

fn a_held_lock_survives_the_end_of_the_token_owner() -> Result<()> {
    for options in [&[][..], QUORUM] {
        let mut ring = form()?;
        let marks = Marks::new()?;
        let holder = (ring.owner()? + 1) % 3;
        let holding = marks.hold(&ring.daemons[holder], "lock", options)?;
        // The token may have moved in the meantime.
        let owner = match ring.owner()? {
            owner if owner == holder => (holder + 1) % 3,
            owner => owner,
        };
        let other = 3 - holder - owner;
        let mut next = marks.start(&ring.daemons[other], "lock", options, "exit 7")?;
        wait_for_counts(&ring.daemons[holder], "lock", 1, 1)?;
        ring.daemons[owner].kill()?;
        // The lease would end within this time.
        std::thread::sleep(6 * HEARTBEAT * 12);
        wait_for_counts(&ring.daemons[holder], "lock", 1, 1)?;
        drop(holding);
        next.expect_code(7)?;
    }
    Ok(())
}

fn a_restart_of_another_daemon_harms_no_lock() -> Result<()> {
    let mut ring = form()?;
    let marks = Marks::new()?;
    let quorum = marks.hold(&ring.daemons[0], "quorum", QUORUM)?;
    let alone = marks.hold(&ring.daemons[0], "alone", &[])?;
    ring.daemons[2].kill()?;
    ring.daemons[2].start()?;
    ring.wait_until_formed()?;
    for lock in ["quorum", "alone"] {
        wait_for_counts(&ring.daemons[2], lock, 1, 0)?;
        let mut refused = marks.start(&ring.daemons[2], lock, &["-n", "-E", "9"], "exit 98")?;
        refused.expect_code(9)?;
    }
    drop((quorum, alone));
    for lock in ["quorum", "alone"] {
        let mut next = marks.start(&ring.daemons[2], lock, &["-w", "60"], "exit 7")?;
        next.expect_code(7)?;
    }
    Ok(())
}
