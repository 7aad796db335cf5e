//! Rings that merge into one ring.

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, WAIT, WAIT_LIMIT, limit, tests};
use serde_json::Value;

use super::stand::{Kind, NodeStand, count, counter};

pub(super) fn tests() -> Vec<Test> {
    let all = tests![
        two_rings_become_one_when_a_cut_heals,
        a_node_that_was_cut_off_gets_the_data_and_the_list_of_the_others,
        when_rings_merge_the_command_under_the_weaker_token_is_ended,
    ];
    all.into_iter().map(Test::without_stalls).collect()
}

fn two_rings_become_one_when_a_cut_heals() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Switch(3), 4, &[])?;
    stand.wait_for_ring(&[0, 1, 2, 3])?;
    let partition = |stand: &NodeStand, sides: [usize; 4]| {
        stand
            .segment()
            .rules()
            .set(|rules| rules.partition = sides.to_vec());
    };
    partition(&stand, [0, 0, 1, 1]);
    // Each side has its own token and counts.
    let reached = stand.count(0)?.max(stand.count(2)?);
    for index in 0..4 {
        stand.wait_for_count(index, reached + 20)?;
    }
    let apart = stand.count(0)?.max(stand.count(2)?);
    partition(&stand, [0; 4]);
    // One token remains, with the larger of the two counts.
    let mut ids = Vec::new();
    for index in 0..4 {
        stand.wait_for_count(index, apart + 10)?;
    }
    stand.wait_for_ring(&[0, 1, 2, 3])?;
    let met: u64 = (0..4)
        .map(|index| {
            let status = stand.node(index).wait_for_status(WAIT_LIMIT, |_| true);
            status.map(|status| {
                ids.push(status["token_id"].as_u64());
                counter(&status, "merged") + counter(&status, "absorbed")
            })
        })
        .sum::<Result<u64>>()?;
    ensure!(met > 0, "no node has received a second token");
    // An id moves only with the token, so all nodes have the same id after a rotation.
    stand.wait_for_rounds(&[0, 1, 2, 3])?;
    let id = stand.node(0).status()?["token_id"].clone();
    for index in 1..4 {
        stand
            .node(index)
            .wait_for_status(WAIT_LIMIT, |status| status["token_id"] == id)?;
    }
    stand.judge().map(drop)
}

fn a_node_that_was_cut_off_gets_the_data_and_the_list_of_the_others() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 3, &[])?;
    stand.wait_for_ring(&[0, 1, 2])?;
    let reached = stand.count(2)?;
    stand.segment().cut(2)?;
    stand.wait_for_count(0, reached + 30)?;
    // If the node had the token when it was cut off, it continues with this token.
    let is_alone =
        |status: &Value| status["state"] == "leader" && counter(status, "passes_failed") > 1;
    let alone = stand.node(2).wait_for_status(WAIT_LIMIT, is_alone)?;
    stand.segment().heal(2)?;
    let most = stand.count(0)?.max(count(&alone)?);
    stand.wait_for_count(2, most + 5)?;
    stand.wait_for_ring(&[0, 1, 2])?;
    let pages = stand
        .node(2)
        .wait_for_status(WAIT_LIMIT, |status| status["state"] == "waiter")?;
    ensure!(super::stand::addresses(&pages).len() == 3, "{pages:#}");
    stand.judge().map(drop)
}

/// The lease is 2.5 s. If a machine stalls for longer than the lease, the commands under both tokens end.
fn when_rings_merge_the_command_under_the_weaker_token_is_ended() -> Result<()> {
    let stand = NodeStand::new(Kind::Switch(5), 2, &[("--tr-interval", "500ms")])?;
    stand.wait_for_ring(&[0, 1])?;
    let sides = |sides: [usize; 2]| {
        let rules = stand.segment().rules();
        rules.set(|rules| rules.partition = sides.to_vec());
    };
    sides([0, 1]);
    let folder = tempfile::tempdir_in("/run")?;
    let begun = [0, 1].map(|index| folder.path().join(format!("begun{index}")));
    std::thread::scope(|scope| -> Result<()> {
        let (stand, begun) = (&stand, &begun);
        let mut runs = [0, 1].map(|index| {
            let line = format!("touch {}; exec sleep 60", begun[index].display());
            Some(scope.spawn(move || stand.ringctl(index, &["run", "-w", WAIT, "-c", &line])))
        });
        limit::wait_until("both commands run", || begun.iter().all(|it| it.exists()));
        sides([0, 0]);
        let is_over = |run: &Option<std::thread::ScopedJoinHandle<_>>| {
            run.as_ref()
                .is_some_and(std::thread::ScopedJoinHandle::is_finished)
        };
        limit::wait_until("one command was ended", || runs.iter().any(is_over));
        let weaker = runs
            .iter()
            .position(is_over)
            .context("no command was ended")?;
        let run = runs[weaker].take().context("the command was run")?;
        let ended = run.join().expect("the thread does not panic")?;
        let errors = String::from_utf8_lossy(&ended.stderr);
        ensure!(
            ended.status.code() == Some(75) && errors.contains("stronger token"),
            "{errors}"
        );
        let stronger = 1 - weaker;
        ensure!(!is_over(&runs[stronger]), "the other command continues");
        let yields = stand.ringctl(stronger, &["yield"])?;
        ensure!(yields.status.success(), "{yields:?}");
        Ok(())
    })?;
    stand.wait_for_rounds(&[0, 1])?;
    stand.judge().map(drop)
}
