//! Faults while clients write. Every acknowledged post must exist exactly once, and all nodes must show the posts in
//! the same order.

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, tests};

use super::test_clients::TestClients;
use super::test_ring::{DatabaseKind, TestRing, tokens_received};

pub(crate) fn tests() -> Vec<Test> {
    let tests = tests![
        five_nodes_are_killed_stopped_and_cut_off_while_clients_write_to_a_server,
        a_server_that_crashes_keeps_no_token_and_loses_no_post,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

fn five_nodes_are_killed_stopped_and_cut_off_while_clients_write_to_a_server() -> Result<()> {
    let options = [("--election-timeout", "400ms")];
    survive_faults(TestRing::new(5, DatabaseKind::PostgreSql, &options)?)
}

/// Kills, stops and cuts off nodes of a ring of five nodes while clients write. A check of conformance does the same
/// with a ring in a file.
pub(crate) fn survive_faults(mut ring: TestRing) -> Result<()> {
    let all = [1, 2, 3, 4, 5];
    ring.wait_for_ring(&all)?;
    let clients = TestClients::start(&ring);
    clients.wait_for_posts(10);

    ring.node(2).kill()?;
    ring.wait_for_ring(&[1, 3, 4, 5])?;
    clients.wait_for_posts(10);
    ring.node(2).start()?;

    // This is the coordinator. If it is stopped while it writes, no other node can write until the coordinator
    // continues.
    ring.node(5).signal(Signal::SIGSTOP)?;
    ring.wait(1, |status| {
        let members = status["members"].as_array();
        status["database"] != "up" || !members.is_some_and(|them| them.contains(&5.into()))
    })?;
    ring.node(5).signal(Signal::SIGCONT)?;
    ring.wait_for_ring(&all)?;
    clients.wait_for_posts(10);

    ring.segment().cut(2)?;
    ring.wait_for_ring(&[1, 2, 4, 5])?;
    clients.wait_for_posts(10);
    ring.segment().heal(2)?;

    // The coordinator and another node die at the same time.
    ring.node(5).kill()?;
    ring.node(4).kill()?;
    ring.wait_for_ring(&[1, 2, 3])?;
    clients.wait_for_posts(10);
    ring.node(5).start()?;
    ring.node(4).start()?;
    ring.wait_for_ring(&all)?;
    clients.wait_for_posts(10);
    clients.end(&ring)
}

/// Checks that the token moves around the ring without the database for longer than R. In this time, a node that wants
/// to join must wait.
fn a_server_that_crashes_keeps_no_token_and_loses_no_post() -> Result<()> {
    /// Each round takes at least 30 ms. R is 2 s + 3 × 10 ms. So 70 rounds take longer than R.
    const ROUNDS: u64 = 70;
    let mut ring = TestRing::new(
        4,
        DatabaseKind::PostgreSql,
        &[("--request-timeout", "700ms")],
    )?;
    ring.wait_for_ring(&[1, 2, 3, 4])?;
    let clients = TestClients::start(&ring);
    ring.node(1).kill()?;
    ring.wait_for_ring(&[2, 3, 4])?;
    clients.wait_for_posts(10);
    let term = ring.wait(2, |_| true)?["term"].clone();

    ring.server()?.crash()?;
    let gone = [2, 3, 4].map(|id| ring.wait(id, |status| status["database"] == "gone"));
    ring.node(1).start()?;
    for (id, gone) in (2..).zip(gone) {
        let before = tokens_received(&gone?);
        ring.wait(id, |status| tokens_received(status) > before + ROUNDS)?;
    }
    clients.wait_for_refusals(3);
    let waiting = ring.wait(1, |status| status["database"] == "gone")?;
    ensure!(waiting["state"] == "STARTING", "{waiting:#}");

    ring.server()?.launch()?;
    clients.wait_for_posts(10);
    ring.wait_for_ring(&[1, 2, 3, 4])?;
    let now = ring.wait(2, |_| true)?["term"].clone();
    ensure!(
        now == term,
        "{now}: somebody took the token for lost in {term}"
    );
    clients.end(&ring)
}
