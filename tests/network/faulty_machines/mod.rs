//! Rings on machines with faults: full disks, small MTUs, lost frames, dead members, differing options.
//!
//! Each test also checks the reports of the fault (`watcher.rs`). Tests with faults of the whole network are in
//! `ring/`.

mod constants;
mod dead_members;
mod deafness;
mod disk;
mod duplicate_mac;
mod mtu;
mod watcher;

use std::time::Duration;

use anyhow::{Result, ensure};
use ring_segment::{Daemon, Layout, Ring, Test, Timing, WAIT_LIMIT, binaries};

const HEARTBEAT: Duration = Duration::from_millis(100);

pub(crate) fn tests() -> Vec<Test> {
    [
        constants::tests(),
        dead_members::tests(),
        deafness::tests(),
        disk::tests(),
        mtu::tests(),
        duplicate_mac::tests(),
    ]
    .concat()
}

fn timing() -> Timing {
    Timing::tolerant(HEARTBEAT)
}

/// Forms a ring with an owner and equal tables.
fn form(count: usize) -> Result<Ring> {
    let segment = Layout::new(count).bridge()?;
    let ring = Ring::start(segment, count, timing(), binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// Returns constants that make the stalls of a busy machine harmless.
fn stall_tolerant_timing() -> Timing {
    Timing::stall_tolerant(HEARTBEAT)
}

/// Forms a ring on a switch that can drop frames.
fn form_behind_a_switch(count: usize) -> Result<Ring> {
    let segment = Layout::new(count).switch(1)?;
    let ring = Ring::start(segment, count, stall_tolerant_timing(), binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// Runs `ringctl`. Returns whether `ringctl` succeeded, and its output.
fn ringctl(daemon: &Daemon, arguments: &[&str]) -> Result<(bool, String)> {
    let output = daemon.ringctl(arguments)?;
    let text = [output.stdout, output.stderr].concat();
    Ok((
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    ))
}

/// Runs `ringctl`, and checks that it succeeds.
fn check_ringctl(daemon: &Daemon, arguments: &[&str]) -> Result<()> {
    let (done, text) = ringctl(daemon, arguments)?;
    ensure!(done, "{text}");
    Ok(())
}
