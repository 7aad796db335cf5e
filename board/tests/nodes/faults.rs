//! What goes wrong while clients write: nothing that was acknowledged is lost or doubled, and there is one order.

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, tests};

use super::crowd::Crowd;
use super::stand::{Kind, Stand, tokens};

pub(crate) fn tests() -> Vec<Test> {
    let tests = tests![
        five_nodes_are_killed_stopped_and_cut_off_while_clients_write_to_a_file,
        five_nodes_are_killed_stopped_and_cut_off_while_clients_write_to_a_server,
        a_server_that_crashes_keeps_no_token_and_loses_no_post,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

fn five_nodes_are_killed_stopped_and_cut_off_while_clients_write_to_a_file() -> Result<()> {
    harm(Kind::Sqlite)
}

fn five_nodes_are_killed_stopped_and_cut_off_while_clients_write_to_a_server() -> Result<()> {
    harm(Kind::PostgreSql)
}

fn harm(kind: Kind) -> Result<()> {
    let all = [1, 2, 3, 4, 5];
    let mut stand = Stand::new(5, kind, &[("--election-timeout", "400ms")])?;
    stand.wait_for_ring(&all)?;
    let crowd = Crowd::start(&stand)?;
    crowd.wait_for_posts(10);

    stand.node(2).kill()?;
    stand.wait_for_ring(&[1, 3, 4, 5])?;
    crowd.wait_for_posts(10);
    stand.node(2).start()?;

    // The coordinator. If it stands still while it writes, nobody else can until it goes on.
    stand.node(5).signal(Signal::SIGSTOP)?;
    stand.wait(1, |status| {
        let members = status["members"].as_array();
        status["database"] != "up" || !members.is_some_and(|them| them.contains(&5.into()))
    })?;
    stand.node(5).signal(Signal::SIGCONT)?;
    stand.wait_for_ring(&all)?;
    crowd.wait_for_posts(10);

    stand.segment().cut(2)?;
    stand.wait_for_ring(&[1, 2, 4, 5])?;
    crowd.wait_for_posts(10);
    stand.segment().heal(2)?;

    // The coordinator and another at once.
    stand.node(5).kill()?;
    stand.node(4).kill()?;
    stand.wait_for_ring(&[1, 2, 3])?;
    crowd.wait_for_posts(10);
    stand.node(5).start()?;
    stand.node(4).start()?;
    stand.wait_for_ring(&all)?;
    crowd.wait_for_posts(10);
    crowd.end(&stand)
}

/// The token goes round without the database for longer than it takes to miss one, and who wants to join waits.
fn a_server_that_crashes_keeps_no_token_and_loses_no_post() -> Result<()> {
    /// Of 30 ms at least each: longer than R, which is 2 s and three times 10 ms.
    const ROUNDS: u64 = 70;
    let mut stand = Stand::new(4, Kind::PostgreSql, &[("--request-timeout", "700ms")])?;
    stand.wait_for_ring(&[1, 2, 3, 4])?;
    let crowd = Crowd::start(&stand)?;
    stand.node(1).kill()?;
    stand.wait_for_ring(&[2, 3, 4])?;
    crowd.wait_for_posts(10);
    let term = stand.wait(2, |_| true)?["term"].clone();

    stand.server()?.crash()?;
    let gone = [2, 3, 4].map(|id| stand.wait(id, |status| status["database"] == "gone"));
    stand.node(1).start()?;
    for (id, gone) in (2..).zip(gone) {
        let before = tokens(&gone?);
        stand.wait(id, |status| tokens(status) > before + ROUNDS)?;
    }
    crowd.wait_for_refusals(3);
    let waiting = stand.wait(1, |status| status["database"] == "gone")?;
    ensure!(waiting["state"] == "STARTING", "{waiting:#}");

    stand.server()?.launch()?;
    crowd.wait_for_posts(10);
    stand.wait_for_ring(&[1, 2, 3, 4])?;
    let now = stand.wait(2, |_| true)?["term"].clone();
    ensure!(
        now == term,
        "{now}: somebody took the token for lost in {term}"
    );
    crowd.end(&stand)
}
