//! Nodes whose lists differ, and a database file that is moved while nodes use it.

use std::fs;

use anyhow::{Context, Result, ensure};
use ring_segment::{Daemon, Test, WAIT_LIMIT, tests};
use serde_json::{Value, json};

use super::http::{post_request, raw};
use super::test_ring::{DatabaseKind, TestRing};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_newcomer_whose_row_the_others_lack_takes_nothing_apart,
        a_moved_file_loses_no_post,
    ]
}

fn has_trouble(status: &Value, words: &str) -> bool {
    let troubles = status["troubles"].as_array().into_iter().flatten();
    let mut troubles = troubles.filter_map(Value::as_str);
    troubles.any(|trouble| trouble.contains(words))
}

fn a_newcomer_whose_row_the_others_lack_takes_nothing_apart() -> Result<()> {
    let ring = TestRing::without_nodes(4, DatabaseKind::Sqlite)?;
    let all = fs::read_to_string(ring.list())?;
    let (few, _) = all.trim_end().rsplit_once('\n').context("it has lines")?;
    let list = ring.list().with_file_name("few.csv");
    fs::write(&list, few)?;
    let ids: Vec<Daemon> = (1..=3)
        .map(|id| ring.options(id)?.option("--nodes", &list).spawn())
        .collect::<Result<_>>()?;
    let is_whole = |status: &Value| {
        let members = status["members"].as_array().map(Vec::len);
        let is_led = status["coordinator"] == 3 && status["acting"] == false;
        members == Some(3) && status["health"] != "critical" && is_led
    };
    for node in &ids {
        node.wait_for_status(WAIT_LIMIT, is_whole)?;
    }
    let before = ids[0].status()?["term"].clone();
    let newcomer = ring.options(4)?.spawn()?;
    // When this line appears, the newcomer has sent three requests without success, and has checked that the network
    // works.
    newcomer.wait_for_line(WAIT_LIMIT, |line| line.contains("answers no request"))?;
    for node in &ids {
        node.wait_for_line(WAIT_LIMIT, |line| line.contains("the database has node 4,"))?;
        let status = node.wait_for_status(WAIT_LIMIT, is_whole)?;
        ensure!(status["term"] == before, "somebody has claimed: {status:#}");
        ensure!(has_trouble(&status, "has node 4,"), "{status:#}");
    }
    let status = ids[2].status()?;
    ensure!(
        has_trouble(&status, "messages of node 4 from"),
        "{status:#}"
    );
    let status = newcomer.status()?;
    ensure!(
        status["state"] == "JOINING" && has_trouble(&status, "the coordinator, node 3,"),
        "{status:#}"
    );
    Ok(())
}

fn a_moved_file_loses_no_post() -> Result<()> {
    let ring = TestRing::new(2, DatabaseKind::Sqlite, &[("--request-timeout", "700ms")])?;
    ring.wait_for_ring(&[1, 2])?;
    let write = |id| {
        let what = json!({"author": "a", "text": "b"});
        anyhow::Ok(raw(&ring, id, post_request(&what).as_bytes())?.status)
    };
    ensure!(write(1)? == 201);
    let file = ring.list().with_file_name("board.db");
    let away = ring.list().with_file_name("away.db");
    fs::rename(&file, &away)?;
    for id in [1, 2] {
        ring.wait(id, |status| {
            status["database"] == "gone" && has_trouble(status, "moved or removed")
        })?;
        ensure!(write(id)? == 503);
    }
    ensure!(!file.exists(), "a node has made another file");
    fs::rename(&away, &file)?;
    for id in [1, 2] {
        ring.wait(id, |status| {
            status["database"] == "up" && status["troubles"] == json!([])
        })?;
        ensure!(write(id)? == 201);
    }
    Ok(())
}
