//! Leaders that die or stall in each phase of their tenure.

use anyhow::{Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};

use super::stand::{Kind, NodeStand, count, counter};

pub(super) fn tests() -> Vec<Test> {
    let all = tests![
        a_killed_leader_is_replaced_and_the_count_continues,
        a_leader_that_is_killed_during_its_computation_is_replaced,
        leaders_that_are_killed_during_a_pass_lose_at_most_one_step,
        a_restore_succeeds_although_a_third_of_all_datagrams_is_lost,
    ];
    // These tests kill and stop daemons themselves.
    all.into_iter().map(Test::without_stalls).collect()
}

/// Returns the numbers from 0 to `count` - 1, without the number `but`.
fn others(count: usize, but: usize) -> Vec<usize> {
    (0..count).filter(|&index| index != but).collect()
}

/// Kills the leader. Returns the number of the node, and the count in its data.
pub(super) fn kill_the_leader(stand: &mut NodeStand, those: &[usize]) -> Result<(usize, u64)> {
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
