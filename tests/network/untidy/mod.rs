//! Rings on machines that are not all in order.

mod constants;
mod dead;
mod deaf;
mod disk;
mod mtu;
mod twins;
mod watcher;

use std::time::Duration;

use anyhow::Result;
use ring_segment::{Daemon, Layout, PATIENCE, Ring, Test, Timing, binaries};

const HEARTBEAT: Duration = Duration::from_millis(100);

pub(crate) fn tests() -> Vec<Test> {
    [
        constants::tests(),
        dead::tests(),
        deaf::tests(),
        disk::tests(),
        mtu::tests(),
        twins::tests(),
    ]
    .concat()
}

fn timing() -> Timing {
    Timing::patient(HEARTBEAT)
}

/// A ring with an owner and equal tables.
fn form(count: usize) -> Result<Ring> {
    let segment = Layout::new(count).bridge()?;
    let ring = Ring::start(segment, count, timing(), binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// Nobody is given up whom a busy machine has but stalled.
fn forbearing() -> Timing {
    Timing::forbearing(HEARTBEAT)
}

/// The same behind a switch that loses frames on demand.
fn form_behind_a_switch(count: usize) -> Result<Ring> {
    let segment = Layout::new(count).switch(1)?;
    let ring = Ring::start(segment, count, forbearing(), binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// What `ringctl` ends with, and what it says.
fn ringctl(daemon: &Daemon, arguments: &[&str]) -> Result<(bool, String)> {
    let output = daemon.ringctl(arguments)?;
    let said = [output.stdout, output.stderr].concat();
    Ok((
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    ))
}
