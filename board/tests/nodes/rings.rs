//! Rings that form, lose members and go on.

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{PATIENCE, Test, tests};
use serde_json::json;

use super::stand::{Kind, Stand, sequence};

pub(crate) fn tests() -> Vec<Test> {
    let killed = tests![
        a_killed_node_is_taken_out_and_joins_again,
        a_killed_coordinator_is_replaced_by_the_largest_that_is_left,
        a_node_that_stands_still_with_the_token_does_not_keep_it,
        a_node_that_is_cut_off_and_has_the_database_takes_nobody_out,
        who_leaves_ends_with_0_and_the_others_go_on,
        a_node_alone_is_its_own_successor,
    ];
    let formed = tests![
        three_nodes_form_a_ring_in_a_file_and_the_token_goes_round,
        three_nodes_form_a_ring_on_a_server_and_the_token_goes_round,
        every_method_elects_the_largest,
        watchers_see_what_happens,
    ];
    killed
        .into_iter()
        .map(Test::without_stalls)
        .chain(formed)
        .collect()
}

fn three_nodes_form_a_ring_in_a_file_and_the_token_goes_round() -> Result<()> {
    Stand::new(3, Kind::Sqlite, &[])?.wait_for_ring(&[1, 2, 3])
}

fn three_nodes_form_a_ring_on_a_server_and_the_token_goes_round() -> Result<()> {
    Stand::new(3, Kind::PostgreSql, &[])?.wait_for_ring(&[1, 2, 3])
}

fn every_method_elects_the_largest() -> Result<()> {
    for method in ["ring", "chang-roberts", "bully"] {
        let stand = Stand::new(3, Kind::Sqlite, &[("--election", method)])?;
        stand.wait_for_ring(&[1, 2, 3])?;
    }
    Ok(())
}

fn a_node_alone_is_its_own_successor() -> Result<()> {
    let stand = Stand::new(1, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1])?;
    let status = stand.wait(1, |_| true)?;
    ensure!(
        status["successor"] == 1 && status["predecessor"] == 1,
        "{status:#}"
    );
    Ok(())
}

fn a_killed_node_is_taken_out_and_joins_again() -> Result<()> {
    let mut stand = Stand::new(4, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2, 3, 4])?;
    stand.node(2).kill()?;
    stand.wait_for_ring(&[1, 3, 4])?;
    stand.node(2).start()?;
    stand.wait_for_ring(&[1, 2, 3, 4])
}

fn a_killed_coordinator_is_replaced_by_the_largest_that_is_left() -> Result<()> {
    let mut stand = Stand::new(4, Kind::PostgreSql, &[])?;
    stand.wait_for_ring(&[1, 2, 3, 4])?;
    let before = sequence(&stand.wait(1, |_| true)?)?;
    stand.node(4).kill()?;
    stand.wait_for_ring(&[1, 2, 3])?;
    // Two at once, the new coordinator among them.
    stand.node(3).kill()?;
    stand.node(2).kill()?;
    stand.wait_for_ring(&[1])?;
    for id in [2, 3, 4] {
        stand.node(id).start()?;
    }
    stand.wait_for_ring(&[1, 2, 3, 4])?;
    let after = sequence(&stand.wait(1, |_| true)?)?;
    ensure!(after > before, "{after} after {before}");
    Ok(())
}

/// The kernel answers for it, the process does not.
fn a_node_that_stands_still_with_the_token_does_not_keep_it() -> Result<()> {
    let mut stand = Stand::new(3, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2, 3])?;
    stand.node(1).signal(Signal::SIGSTOP)?;
    stand.wait_for_ring(&[2, 3])?;
    stand.node(1).signal(Signal::SIGCONT)?;
    stand.wait_for_ring(&[1, 2, 3])
}

fn a_node_that_is_cut_off_and_has_the_database_takes_nobody_out() -> Result<()> {
    let mut stand = Stand::new(3, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2, 3])?;
    // The coordinator too: its beat goes on in the database.
    for cut in [1, 3] {
        let removals = |stand: &Stand| -> Result<_> {
            Ok(stand.wait(cut, |_| true)?["counters"]["removals"].clone())
        };
        let before = removals(&stand)?;
        stand.link(cut, "down")?;
        let others: Vec<usize> = (1..=3).filter(|&other| other != cut).collect();
        stand.wait_for_ring(&others)?;
        let after = removals(&stand)?;
        ensure!(before == after, "node {cut} has taken others out");
        stand.link(cut, "up")?;
        stand.wait_for_ring(&[1, 2, 3])?;
    }
    ensure!(stand.node(1).is_running()?);
    Ok(())
}

fn who_leaves_ends_with_0_and_the_others_go_on() -> Result<()> {
    let mut stand = Stand::new(3, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2, 3])?;
    let made = stand.wait(1, |_| true)?["term"].clone();
    for (signal, id, left) in [
        (Signal::SIGTERM, 2, &[1, 3][..]),
        (Signal::SIGINT, 1, &[3]),
        (Signal::SIGTERM, 3, &[]),
    ] {
        let control = stand.node(id).control();
        stand.node(id).signal(signal)?;
        let end = stand.node(id).wait_exit(PATIENCE)?;
        ensure!(end.code() == Some(0), "{end}");
        ensure!(!control.exists(), "it has left its control socket behind");
        if !left.is_empty() {
            stand.wait_for_ring(left)?;
        }
        // The token has gone on: nobody had to make another.
        if id == 2 {
            let term = stand.wait(1, |_| true)?["term"].clone();
            ensure!(term == made, "{term}, not {made}");
        }
    }
    Ok(())
}

fn watchers_see_what_happens() -> Result<()> {
    let mut stand = Stand::new(2, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2])?;
    let version = stand
        .node(1)
        .ask(&json!({"request": "version"}), "version")?;
    ensure!(version["protocol"] == 1, "{version}");
    let first = stand
        .node(1)
        .ask(&json!({"request": "watch"}), "snapshot")?;
    ensure!(first["status"]["system"] == "board", "{first}");
    let refused = stand.node(1).ask(&json!({"request": "lock"}), "error")?;
    ensure!(
        refused.to_string().contains("status and its events"),
        "{refused}"
    );
    stand.node(1).signal(Signal::SIGUSR1)?;
    stand.node(1).wait_for_line(PATIENCE, |line| {
        line.contains("status: node 1, MEMBER, coordinator 2,")
    })?;
    Ok(())
}
