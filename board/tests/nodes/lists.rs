//! Nodes whose lists differ, and a file that is taken away from under them.

use std::fs;

use anyhow::{Context, Result, ensure};
use ring_segment::{Daemon, PATIENCE, Test, tests};
use serde_json::{Value, json};

use super::http::{posting, raw};
use super::stand::{Kind, Stand};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_newcomer_whose_row_the_others_lack_takes_nothing_apart,
        a_file_that_is_moved_away_loses_no_post,
    ]
}

fn is_troubled_by(status: &Value, words: &str) -> bool {
    let troubles = status["troubles"].as_array().into_iter().flatten();
    let mut troubles = troubles.filter_map(Value::as_str);
    troubles.any(|trouble| trouble.contains(words))
}

fn a_newcomer_whose_row_the_others_lack_takes_nothing_apart() -> Result<()> {
    let stand = Stand::without_nodes(4, Kind::Sqlite)?;
    let all = fs::read_to_string(stand.list())?;
    let (few, _) = all.trim_end().rsplit_once('\n').context("it has lines")?;
    let list = stand.list().with_file_name("few.csv");
    fs::write(&list, few)?;
    let those: Vec<Daemon> = (1..=3)
        .map(|id| stand.options(id)?.option("--nodes", &list).spawn())
        .collect::<Result<_>>()?;
    let is_whole = |status: &Value| {
        let members = status["members"].as_array().map(Vec::len);
        let is_led = status["coordinator"] == 3 && status["acting"] == false;
        members == Some(3) && status["health"] != "critical" && is_led
    };
    for node in &those {
        node.wait_for_status(PATIENCE, is_whole)?;
    }
    let before = those[0].status()?["term"].clone();
    let newcomer = stand.options(4)?.spawn()?;
    // By then it has sent three requests in vain, and has found the network.
    newcomer.wait_for_line(PATIENCE, |line| line.contains("answers no request"))?;
    for node in &those {
        node.wait_for_line(PATIENCE, |line| line.contains("the database has node 4,"))?;
        let status = node.wait_for_status(PATIENCE, is_whole)?;
        ensure!(status["term"] == before, "somebody has claimed: {status:#}");
        ensure!(is_troubled_by(&status, "has node 4,"), "{status:#}");
    }
    let status = those[2].status()?;
    ensure!(is_troubled_by(&status, "node 4 sends from"), "{status:#}");
    let status = newcomer.status()?;
    ensure!(
        status["state"] == "JOINING" && is_troubled_by(&status, "node 3, the coordinator"),
        "{status:#}"
    );
    Ok(())
}

fn a_file_that_is_moved_away_loses_no_post() -> Result<()> {
    let stand = Stand::new(2, Kind::Sqlite, &[("--request-timeout", "700ms")])?;
    stand.wait_for_ring(&[1, 2])?;
    let write = |id| {
        let what = json!({"author": "a", "text": "b"});
        anyhow::Ok(raw(&stand, id, posting(&what).as_bytes())?.status)
    };
    ensure!(write(1)? == 201);
    let file = stand.list().with_file_name("board.db");
    let away = stand.list().with_file_name("away.db");
    fs::rename(&file, &away)?;
    for id in [1, 2] {
        stand.wait(id, |status| {
            status["database"] == "gone" && is_troubled_by(status, "moved or removed")
        })?;
        ensure!(write(id)? == 503);
    }
    ensure!(!file.exists(), "a node has made another file");
    fs::rename(&away, &file)?;
    for id in [1, 2] {
        stand.wait(id, |status| {
            status["database"] == "up" && status["troubles"] == json!([])
        })?;
        ensure!(write(id)? == 201);
    }
    Ok(())
}
