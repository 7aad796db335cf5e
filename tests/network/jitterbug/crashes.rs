//! Leaders that die or stall in each phase of their tenure.

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, WAIT_LIMIT, tests};

use super::stand::{Kind, NodeStand, RENEW_TIMEOUT, count, counter};

pub(super) fn tests() -> Vec<Test> {
    let all = tests![
        a_killed_leader_is_replaced_and_the_count_continues,
        a_leader_that_is_killed_during_its_computation_is_replaced,
        leaders_that_are_killed_during_a_pass_lose_at_most_one_step,
        all_nodes_except_one_may_be_killed_and_come_back,
        a_restore_succeeds_although_a_third_of_all_datagrams_is_lost,
        a_leader_that_was_stopped_asks_for_the_token_before_it_leads_again,
        a_node_that_gets_sigterm_passes_the_token,
        conformance_of_a_node,
    ];
    // These tests kill and stop daemons themselves.
    all.into_iter().map(Test::without_stalls).collect()
}

/// Returns the numbers from 0 to `count` - 1, without the number `but`.
fn others(count: usize, but: usize) -> Vec<usize> {
    (0..count).filter(|&index| index != but).collect()
}

/// Returns the total number of restores that these nodes won.
fn restores_won(stand: &mut NodeStand, those: &[usize]) -> Result<u64> {
    let won = those.iter().map(|&index| {
        let status = stand.node(index).wait_for_status(WAIT_LIMIT, |_| true)?;
        Ok(counter(&status, "restores_won"))
    });
    won.sum()
}

/// Kills the leader. Returns the number of the node, and the count in its data.
fn kill_the_leader(stand: &mut NodeStand, those: &[usize]) -> Result<(usize, u64)> {
    let leader = stand.leader_of(those)?;
    let reached = stand.count(leader)?;
    stand.node(leader).kill()?;
    Ok((leader, reached))
}

/// The leader holds the token for a long time, so it still leads when the test kills it.
fn a_killed_leader_is_replaced_and_the_count_continues() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 3, &[("--hold", "100ms")])?;
    stand.wait_for_ring(&[0, 1, 2])?;
    stand.wait_for_count(0, 4)?;
    let (leader, reached) = kill_the_leader(&mut stand, &[0, 1, 2])?;
    let left = others(3, leader);
    for &index in &left {
        // The last step of the killed leader may be lost.
        stand.wait_for_count(index, reached + 3)?;
    }
    stand.node(leader).start()?;
    stand.wait_for_ring(&[0, 1, 2])?;
    let status = stand.wait_for_count(leader, reached + 3)?;
    ensure!(counter(&status, "taken") > 0, "{status:#}");
    stand.judge().map(drop)
}

/// The leader's command runs until it is killed, and must end soon after the leader.
fn a_leader_that_is_killed_during_its_computation_is_replaced() -> Result<()> {
    // After the ring has counted to 5, the next step of each node hangs.
    let command =
        r#"read n || :; [ "${n:-0}" -ne 5 ] || exec sleep 1000; printf %s $((${n:-0} + 1))"#;
    let options = [("--compute", command), ("--compute-timeout", "300ms")];
    let mut stand = NodeStand::new(Kind::Bridge, 3, &options)?;
    stand.wait_for_ring(&[0, 1, 2])?;
    // A node holds the token until its command exceeds its time limit.
    let mut hangs = None;
    while hangs.is_none() {
        for index in 0..3 {
            let status = stand.node(index).wait_for_status(WAIT_LIMIT, |_| true)?;
            if status["state"] == "leader" && count(&status)? == 5 {
                hangs = Some(index);
            }
        }
    }
    let leader = hangs.unwrap_or_default();
    stand.node(leader).kill()?;
    for index in others(3, leader) {
        let status = stand
            .node(index)
            .wait_for_status(WAIT_LIMIT, |status| counter(status, "compute_failures") > 0)?;
        ensure!(count(&status)? == 5, "{status:#}");
    }
    stand.judge().map(drop)
}

/// The data are large, so the pass takes most of the time of a tenure.
fn leaders_that_are_killed_during_a_pass_lose_at_most_one_step() -> Result<()> {
    const LINES: u64 = 40_000;
    // The data are a counter of fixed length and a long tail. The tail must arrive either completely or not at all.
    let command = format!(
        r#"read n || n=0; n=$((n + 1)); yes 0123456789 | head -n {LINES} | sed "1s/.*/$n/""#
    );
    let options = [
        ("--compute", command.as_str()),
        ("--decide", "greater"),
        ("--hold", "0ms"),
    ];
    let mut stand = NodeStand::new(Kind::Bridge, 3, &options)?;
    stand.wait_for_ring(&[0, 1, 2])?;
    for _ in 0..4 {
        let leader = stand.leader_of(&[0, 1, 2])?;
        stand.node(leader).kill()?;
        let left = others(3, leader);
        stand.leader_of(&left)?;
        stand.node(leader).start()?;
        stand.wait_for_ring(&[0, 1, 2])?;
    }
    let seen = super::judge::judge(stand.record())?;
    ensure!(!seen.passes.is_empty(), "no node passed the token");
    for pass in &seen.passes {
        let lines = pass.data.split(|&byte| byte == b'\n').count() - 1;
        let is_whole = pass.data.is_empty() || lines as u64 == LINES;
        ensure!(is_whole, "{} bytes of data, {lines} lines", pass.data.len());
    }
    Ok(())
}

fn all_nodes_except_one_may_be_killed_and_come_back() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 5, &[])?;
    let all: Vec<usize> = (0..5).collect();
    stand.wait_for_ring(&all)?;
    stand.wait_for_count(0, 10)?;
    for index in 1..5 {
        stand.node(index).kill()?;
    }
    let reached = stand.count(0)?;
    let status = stand.wait_for_count(0, reached + 5)?;
    ensure!(
        super::stand::addresses(&status).len() == 5,
        "an entry is missing in the list: {status:#}"
    );
    for index in 1..5 {
        stand.node(index).start()?;
    }
    stand.wait_for_ring(&all)?;
    stand.wait_for_rounds(&all)?;
    for &index in &all {
        ensure!(stand.count(index)? > reached, "the count went back");
    }
    stand.judge().map(drop)
}

fn a_restore_succeeds_although_a_third_of_all_datagrams_is_lost() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Switch(7), 4, &[("--hold", "100ms")])?;
    stand.wait_for_ring(&[0, 1, 2, 3])?;
    stand.wait_for_count(0, 4)?;
    let (leader, reached) = kill_the_leader(&mut stand, &[0, 1, 2, 3])?;
    let left = others(4, leader);
    // Nodes without a leader send only datagrams.
    stand.segment().rules().set(|rules| rules.loss = 0.3);
    stand.leader_of(&left)?;
    stand.segment().rules().set(|rules| rules.loss = 0.0);
    stand.wait_for_ring(&left)?;
    for &index in &left {
        stand.wait_for_count(index, reached + 3)?;
    }
    Ok(())
}

/// A new leader replaces the stopped leader.
fn a_leader_that_was_stopped_asks_for_the_token_before_it_leads_again() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 3, &[("--hold", "300ms")])?;
    stand.wait_for_ring(&[0, 1, 2])?;
    // Stops the leader while it leads.
    let leader = loop {
        let leader = stand.leader_of(&[0, 1, 2])?;
        stand.node(leader).signal(Signal::SIGSTOP)?;
        let left = others(3, leader);
        let before = restores_won(&mut stand, &left)?;
        // A running node passes the token within this time. If the stopped node has the token, another node wins a
        // restore.
        let until = std::time::Instant::now() + 2 * RENEW_TIMEOUT;
        let mut is_replaced = false;
        while !is_replaced && std::time::Instant::now() < until {
            is_replaced = restores_won(&mut stand, &left)? > before;
        }
        if is_replaced {
            break leader;
        }
        stand.node(leader).signal(Signal::SIGCONT)?;
    };
    let left = others(3, leader);
    let reached = stand.count(left[0])?;
    stand.node(leader).signal(Signal::SIGCONT)?;
    let status = stand
        .node(leader)
        .wait_for_status(WAIT_LIMIT, |status| counter(status, "stalls") > 0)?;
    ensure!(counter(&status, "restores") > 1, "{status:#}");
    stand.wait_for_ring(&[0, 1, 2])?;
    stand.wait_for_count(leader, reached + 1)?;
    let won = restores_won(&mut stand, &[leader])?;
    ensure!(won <= 1, "the node made a token although one existed");
    stand.judge().map(drop)
}

/// Checks that the ring continues without a restore when a node ends.
fn a_node_that_gets_sigterm_passes_the_token() -> Result<()> {
    let mut stand = NodeStand::new(
        Kind::Bridge,
        3,
        &[("--renew-timeout", "1h"), ("--hold", "100ms")],
    )?;
    stand.wait_for_ring(&[0, 1, 2])?;
    let leader = stand.leader_of(&[0, 1, 2])?;
    stand.node(leader).signal(Signal::SIGTERM)?;
    let end = stand.node(leader).wait_exit(WAIT_LIMIT)?;
    ensure!(end.code() == Some(0), "{end}");
    let left = others(3, leader);
    let reached = stand.count(left[0])?;
    for &index in &left {
        stand.wait_for_count(index, reached + 3)?;
    }
    // The last node must end too, although it has no successor.
    for &index in &left {
        stand.node(index).signal(Signal::SIGTERM)?;
        ensure!(stand.node(index).wait_exit(WAIT_LIMIT)?.code() == Some(0));
    }
    stand.judge().map(drop)
}

/// The last of the four nodes may be a foreign program (`docs/jitterbug/protocol/conformance.md`). The other three
/// nodes show whether the ring works, and the judge checks the messages of all nodes.
fn conformance_of_a_node() -> Result<()> {
    const OTHERS: [usize; 3] = [0, 1, 2];
    const JUDGED: usize = 3;
    const ALL: [usize; 4] = [0, 1, 2, 3];
    let options = [("--hold", "50ms")];
    let mut stand = NodeStand::with_judged(Kind::Switch(5), ALL.len(), &options)?;
    stand.wait_for_ring(&ALL)?;
    stand.wait_for_rounds(&OTHERS)?;

    // The judged node helps to restore the token of a dead leader.
    let (leader, reached) = kill_the_leader(&mut stand, &OTHERS)?;
    for index in OTHERS.into_iter().filter(|&index| index != leader) {
        stand.wait_for_count(index, reached + 3)?;
    }
    stand.node(leader).start()?;
    stand.wait_for_ring(&ALL)?;

    // It is killed, and joins again.
    stand.node(JUDGED).kill()?;
    stand.wait_for_rounds(&OTHERS)?;
    stand.node(JUDGED).start()?;
    stand.wait_for_ring(&ALL)?;

    // It stalls, and then gives way to the token of the others.
    stand.signal(JUDGED, Signal::SIGSTOP)?;
    stand.wait_for_rounds(&OTHERS)?;
    stand.signal(JUDGED, Signal::SIGCONT)?;
    stand.wait_for_ring(&ALL)?;

    // A cut makes two rings with two tokens, which become one ring.
    let partition = |stand: &NodeStand, sides: [usize; 4]| {
        let switch = stand.segment().rules();
        switch.set(|rules| rules.partition = sides.to_vec());
    };
    partition(&stand, [0, 0, 1, 1]);
    stand.wait_for_rounds(&OTHERS)?;
    partition(&stand, [0; 4]);
    stand.wait_for_ring(&ALL)?;
    stand.wait_for_rounds(&OTHERS)?;

    let seen = stand.judge()?;
    let judged = stand.address(JUDGED);
    ensure!(
        seen.passes.iter().any(|pass| pass.to == judged),
        "the judged node took no token"
    );
    ensure!(
        seen.passes.iter().any(|pass| pass.from == judged),
        "the judged node passed no token"
    );
    Ok(())
}
