//! Interfaces that carry less than the token's data need.

use anyhow::{Result, ensure};
use ring_segment::limit::until;
use ring_segment::{Daemon, Ring, Test, WAIT, now, tests};

use super::{PATIENCE, form, ringctl};

pub fn tests() -> Vec<Test> {
    tests![
        data_that_do_not_fit_a_small_mtu_are_refused_with_the_reason,
        data_give_way_when_all_interfaces_shrink,
        data_give_way_when_one_interface_shrinks,
    ]
}

/// More than fits a small frame.
fn long() -> String {
    "x".repeat(1_000)
}

fn shrink(ring: &Ring, place: usize) -> Result<()> {
    ring.segment.node(place).ns().ip("link set eth0 mtu 576\n")
}

fn locks(daemon: &Daemon) -> Result<()> {
    let (done, said) = ringctl(daemon, &["run", "-w", WAIT, "--", "true"])?;
    ensure!(done, "{said}");
    Ok(())
}

fn data_that_do_not_fit_a_small_mtu_are_refused_with_the_reason() -> Result<()> {
    let ring = form(4)?;
    for place in 0..4 {
        shrink(&ring, place)?;
    }
    for daemon in &ring.daemons {
        daemon.wait_for_line(PATIENCE, |line| line.contains("MTU 576"))?;
    }
    let (done, said) = ringctl(&ring.daemons[1], &["data", "set", &long()])?;
    ensure!(!done && said.contains("MTU of 576"), "{said}");
    for daemon in &ring.daemons {
        locks(daemon)?;
    }
    let (done, said) = ringctl(&ring.daemons[1], &["data", "set", &"y".repeat(400)])?;
    ensure!(done, "{said}");
    ring.check()
}

/// The data are gone, loudly, and the token is not.
fn gave_way(ring: &Ring) -> Result<()> {
    let dropped = |daemon: &Daemon| {
        let lines = daemon.output();
        lines
            .iter()
            .any(|line| line.contains("dropped the token's data (1,000 bytes)"))
    };
    let since = now();
    ring.wait_for_one_owner(since)?;
    for daemon in &ring.daemons {
        locks(daemon)?;
        let (_, data) = ringctl(daemon, &["data", "get"])?;
        ensure!(data.trim().is_empty(), "{data}");
    }
    ensure!(ring.daemons.iter().any(dropped), "nobody says so");
    Ok(())
}

fn data_give_way_when_all_interfaces_shrink() -> Result<()> {
    let ring = form(4)?;
    let (done, said) = ringctl(&ring.daemons[0], &["data", "set", &long()])?;
    ensure!(done, "{said}");
    for place in 0..4 {
        shrink(&ring, place)?;
    }
    for daemon in &ring.daemons {
        daemon.wait_for_line(PATIENCE, |line| line.contains("MTU 576"))?;
    }
    gave_way(&ring)
}

fn data_give_way_when_one_interface_shrinks() -> Result<()> {
    let ring = form(3)?;
    let (done, said) = ringctl(&ring.daemons[0], &["data", "set", &long()])?;
    ensure!(done, "{said}");
    shrink(&ring, 2)?;
    ring.daemons[2].wait_for_line(PATIENCE, |line| line.contains("MTU 576"))?;
    let gone = |line: &String| line.contains("dropped the token's data (1,000 bytes)");
    let heard = |daemon: &Daemon| daemon.output().iter().any(gone);
    until("the data are dropped", || ring.daemons.iter().any(heard));
    gave_way(&ring)
}
