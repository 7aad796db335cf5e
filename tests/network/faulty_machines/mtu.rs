//! Interfaces whose MTU is too small for a token with data.

use anyhow::{Result, ensure};
use ring_segment::limit::wait_until;
use ring_segment::{Daemon, Ring, Test, WAIT, now, tests};

use super::watcher::{Watcher, has_trouble};
use super::{WAIT_LIMIT, check_ringctl, form, ringctl};

pub(super) fn tests() -> Vec<Test> {
    tests![
        data_that_are_too_long_for_a_small_mtu_are_refused_with_the_reason,
        data_are_dropped_when_the_mtu_of_all_interfaces_shrinks,
        data_are_dropped_when_the_mtu_of_one_interface_shrinks,
        an_interface_whose_mtu_is_too_small_for_confirmations_is_reported_once,
    ]
}

/// Returns data that are too long for a frame on an interface with a small MTU.
fn long_data() -> String {
    "x".repeat(1_000)
}

fn reduce_mtu(ring: &Ring, place: usize) -> Result<()> {
    ring.segment.node(place).ns().ip("link set eth0 mtu 576\n")
}

fn check_locks(daemon: &Daemon) -> Result<()> {
    check_ringctl(daemon, &["run", "-w", WAIT, "--", "true"])
}

fn data_that_are_too_long_for_a_small_mtu_are_refused_with_the_reason() -> Result<()> {
    let ring = form(4)?;
    for place in 0..4 {
        reduce_mtu(&ring, place)?;
    }
    for daemon in &ring.daemons {
        daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("MTU 576"))?;
    }
    let (done, text) = ringctl(&ring.daemons[1], &["data", "set", &long_data()])?;
    ensure!(!done && text.contains("MTU of 576"), "{text}");
    for daemon in &ring.daemons {
        check_locks(daemon)?;
    }
    check_ringctl(&ring.daemons[1], &["data", "set", &"y".repeat(400)])?;
    ring.check()
}

/// Checks that the ring reported the loss of the data and kept the token.
fn check_data_were_dropped(ring: &Ring, watchers: Vec<Watcher<'_>>) -> Result<()> {
    let dropped = |daemon: &Daemon| {
        let lines = daemon.output();
        lines
            .iter()
            .any(|line| line.contains("dropped the token's data (1,000 bytes)"))
    };
    let since = now();
    ring.wait_for_one_owner(since)?;
    for daemon in &ring.daemons {
        check_locks(daemon)?;
        let (_, data) = ringctl(daemon, &["data", "get"])?;
        ensure!(data.trim().is_empty(), "{data}");
    }
    let says = |watcher: &Watcher<'_>| dropped(watcher.daemon);
    let mut loud = watchers.into_iter().filter(says).peekable();
    ensure!(
        loud.peek().is_some(),
        "no daemon reports the loss of the data"
    );
    for mut watcher in loud {
        watcher.expect_trouble("data_dropped", "dropped the token's data (1,000 bytes)")?;
    }
    Ok(())
}

fn data_are_dropped_when_the_mtu_of_all_interfaces_shrinks() -> Result<()> {
    let ring = form(4)?;
    check_ringctl(&ring.daemons[0], &["data", "set", &long_data()])?;
    let watchers = Watcher::of_all(&ring.daemons)?;
    for place in 0..4 {
        reduce_mtu(&ring, place)?;
    }
    for daemon in &ring.daemons {
        daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("MTU 576"))?;
    }
    check_data_were_dropped(&ring, watchers)
}

fn data_are_dropped_when_the_mtu_of_one_interface_shrinks() -> Result<()> {
    let ring = form(3)?;
    check_ringctl(&ring.daemons[0], &["data", "set", &long_data()])?;
    let watchers = Watcher::of_all(&ring.daemons)?;
    reduce_mtu(&ring, 2)?;
    ring.daemons[2].wait_for_line(WAIT_LIMIT, |line| line.contains("MTU 576"))?;
    let gone = |line: &String| line.contains("dropped the token's data (1,000 bytes)");
    let has_report = |daemon: &Daemon| daemon.output().iter().any(gone);
    wait_until("the data are dropped", || {
        ring.daemons.iter().any(has_report)
    });
    check_data_were_dropped(&ring, watchers)
}

/// The MTU is 68 bytes, the kernel's minimum. Offers and heartbeats fit, but confirmations do not fit.
fn an_interface_whose_mtu_is_too_small_for_confirmations_is_reported_once() -> Result<()> {
    let ring = form(3)?;
    let mut watchers = Watcher::of_all(&ring.daemons)?;
    let small = &ring.daemons[2];
    let set = |mtu| {
        let ns = ring.segment.node(2).ns();
        ns.ip(&format!("link set eth0 mtu {mtu}\n"))
    };
    set(68)?;
    let own = "the interface has an MTU of 68, but a confirmation needs 71";
    let named = format!(
        "{} has an MTU of 68, but a confirmation needs 71",
        small.node().mac()
    );
    for (watcher, words) in watchers.iter_mut().zip([&named, &named, own]) {
        watcher.expect_trouble("mtu_too_small", words)?;
    }
    ring.daemons.iter().try_for_each(check_locks)?;
    let quorum = |daemon, wait| {
        let arguments = ["run", "-w", wait, "--require", "quorum", "--", "true"];
        ringctl(daemon, &arguments)
    };
    let (done, text) = quorum(&ring.daemons[0], WAIT)?;
    ensure!(
        done,
        "the other members are two of three, but no quorum: {text}"
    );
    let (done, text) = quorum(small, "1")?;
    ensure!(!done, "{text}");
    let count_lines = |daemon: &Daemon, what: &str| {
        let lines = daemon.output();
        lines.iter().filter(|line| line.contains(what)).count()
    };
    for daemon in &ring.daemons {
        let times = count_lines(daemon, "a confirmation needs 71");
        ensure!(times == 1, "reported {times} times");
        let refused = count_lines(daemon, "(EMSGSIZE)");
        ensure!(
            refused <= 2,
            "{refused} frames were too long: {:#?}",
            daemon.output()
        );
    }
    set(1_500)?;
    for watcher in &mut watchers {
        watcher.expect_report(
            "mtu_large_enough",
            "all interfaces carry 71 bytes or more again",
        )?;
        let over = |status: &serde_json::Value| !has_trouble(status, "a confirmation needs");
        watcher.daemon.wait_for_status(WAIT_LIMIT, over)?;
    }
    let (done, text) = quorum(small, WAIT)?;
    ensure!(done, "{text}");
    Ok(())
}
