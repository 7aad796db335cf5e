//! Rings that form, lose members and recover.

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, WAIT_LIMIT, tests};
use serde_json::json;

use super::test_ring::{DatabaseKind, TestRing, sequence};

pub(crate) fn tests() -> Vec<Test> {
    let killed = tests![
        a_killed_node_is_taken_out_and_joins_again,
        the_largest_remaining_node_replaces_a_killed_coordinator,
        a_stopped_node_does_not_keep_the_token,
        an_isolated_node_with_the_database_removes_no_node,
        a_leaving_node_exits_with_0_and_the_others_continue,
        the_only_node_is_its_own_successor,
    ];
    let formed = tests![
        three_nodes_form_a_ring_in_a_file_and_pass_the_token,
        three_nodes_form_a_ring_on_a_server_and_pass_the_token,
        every_method_elects_the_largest,
        watchers_get_the_events,
    ];
    killed
        .into_iter()
        .map(Test::without_stalls)
        .chain(formed)
        .collect()
}

fn three_nodes_form_a_ring_in_a_file_and_pass_the_token() -> Result<()> {
    TestRing::new(3, DatabaseKind::Sqlite, &[])?.wait_for_ring(&[1, 2, 3])
}

fn three_nodes_form_a_ring_on_a_server_and_pass_the_token() -> Result<()> {
    TestRing::new(3, DatabaseKind::PostgreSql, &[])?.wait_for_ring(&[1, 2, 3])
}

fn every_method_elects_the_largest() -> Result<()> {
    for method in ["ring", "chang-roberts", "bully"] {
        let ring = TestRing::new(3, DatabaseKind::Sqlite, &[("--election", method)])?;
        ring.wait_for_ring(&[1, 2, 3])?;
    }
    Ok(())
}

fn the_only_node_is_its_own_successor() -> Result<()> {
    let ring = TestRing::new(1, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1])?;
    let status = ring.wait(1, |_| true)?;
    ensure!(
        status["successor"] == 1 && status["predecessor"] == 1,
        "{status:#}"
    );
    Ok(())
}

fn a_killed_node_is_taken_out_and_joins_again() -> Result<()> {
    let mut ring = TestRing::new(4, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2, 3, 4])?;
    ring.node(2).kill()?;
    ring.wait_for_ring(&[1, 3, 4])?;
    ring.node(2).start()?;
    ring.wait_for_ring(&[1, 2, 3, 4])
}

fn the_largest_remaining_node_replaces_a_killed_coordinator() -> Result<()> {
    let mut ring = TestRing::new(4, DatabaseKind::PostgreSql, &[])?;
    ring.wait_for_ring(&[1, 2, 3, 4])?;
    let before = sequence(&ring.wait(1, |_| true)?)?;
    ring.node(4).kill()?;
    ring.wait_for_ring(&[1, 2, 3])?;
    // Two nodes die at once, and one of them is the new coordinator.
    ring.node(3).kill()?;
    ring.node(2).kill()?;
    ring.wait_for_ring(&[1])?;
    for id in [2, 3, 4] {
        ring.node(id).start()?;
    }
    ring.wait_for_ring(&[1, 2, 3, 4])?;
    let after = sequence(&ring.wait(1, |_| true)?)?;
    ensure!(after > before, "{after} after {before}");
    Ok(())
}

/// Checks that a stopped process loses the token, although its kernel still acknowledges messages.
fn a_stopped_node_does_not_keep_the_token() -> Result<()> {
    let mut ring = TestRing::new(3, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2, 3])?;
    ring.node(1).signal(Signal::SIGSTOP)?;
    ring.wait_for_ring(&[2, 3])?;
    ring.node(1).signal(Signal::SIGCONT)?;
    ring.wait_for_ring(&[1, 2, 3])
}

fn an_isolated_node_with_the_database_removes_no_node() -> Result<()> {
    let mut ring = TestRing::new(3, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2, 3])?;
    // Node 3 is the coordinator. While it is cut off, its beat continues in the database.
    for cut in [1, 3] {
        let removals = |ring: &TestRing| -> Result<_> {
            Ok(ring.wait(cut, |_| true)?["counters"]["removals"].clone())
        };
        let before = removals(&ring)?;
        ring.set_link(cut, "down")?;
        let others: Vec<usize> = (1..=3).filter(|&other| other != cut).collect();
        ring.wait_for_ring(&others)?;
        let after = removals(&ring)?;
        ensure!(before == after, "node {cut} has taken others out");
        ring.set_link(cut, "up")?;
        ring.wait_for_ring(&[1, 2, 3])?;
    }
    ensure!(ring.node(1).poll_running()?);
    Ok(())
}

fn a_leaving_node_exits_with_0_and_the_others_continue() -> Result<()> {
    let mut ring = TestRing::new(3, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2, 3])?;
    let made = ring.wait(1, |_| true)?["term"].clone();
    for (signal, id, left) in [
        (Signal::SIGTERM, 2, &[1, 3][..]),
        (Signal::SIGINT, 1, &[3]),
        (Signal::SIGTERM, 3, &[]),
    ] {
        let control = ring.node(id).control();
        ring.node(id).signal(signal)?;
        let end = ring.node(id).wait_exit(WAIT_LIMIT)?;
        ensure!(end.code() == Some(0), "{end}");
        ensure!(!control.exists(), "it has left its control socket behind");
        if !left.is_empty() {
            ring.wait_for_ring(left)?;
        }
        // The node passed the token on, so no node had to make another token.
        if id == 2 {
            let term = ring.wait(1, |_| true)?["term"].clone();
            ensure!(term == made, "{term}, not {made}");
        }
    }
    Ok(())
}

fn watchers_get_the_events() -> Result<()> {
    let mut ring = TestRing::new(2, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2])?;
    let version = ring
        .node(1)
        .ask(&json!({"request": "version"}), "version")?;
    ensure!(version["protocol"] == 1, "{version}");
    let first = ring.node(1).ask(&json!({"request": "watch"}), "snapshot")?;
    ensure!(first["status"]["system"] == "board", "{first}");
    let refused = ring.node(1).ask(&json!({"request": "lock"}), "error")?;
    ensure!(
        refused.to_string().contains("status and its events"),
        "{refused}"
    );
    ring.node(1).signal(Signal::SIGUSR1)?;
    ring.node(1).wait_for_line(WAIT_LIMIT, |line| {
        line.contains("status: node 1, MEMBER, coordinator 2,")
    })?;
    Ok(())
}
