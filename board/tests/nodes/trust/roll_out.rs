//! A ring under load gets keys, then requires signatures, and then replaces its key. No node restarts.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use ring_segment::eavesdropper::{Overheard, streams};
use ring_segment::{Eavesdropper, KeyFiles, Test, check_signers, reload_keys, tests};
use serde_json::json;

use super::super::test_clients::TestClients;
use super::super::test_ring::{DatabaseKind, PORT, TestRing};
use super::{ACK_TIMEOUT, TOKEN, changes, start};

pub(super) fn tests() -> Vec<Test> {
    // Counts of lost tokens must not change.
    let mut tests = tests![a_neighbor_without_a_key_is_named];
    tests.extend(tests![exclusive a_ring_under_load_gets_keys_and_replaces_its_key_without_a_gap]);
    tests
}

fn holds_token(stream: &Overheard) -> bool {
    stream.bytes.windows(TOKEN.len()).any(|it| it == TOKEN)
}

fn is_ring_stream(stream: &Overheard) -> bool {
    [stream.from.port(), stream.to.port()].contains(&PORT)
}

/// Checks the streams between the nodes since the last call.
fn overhear(ears: &Eavesdropper, mut is_right: impl FnMut(&Overheard) -> bool) -> Result<()> {
    let heard = streams(&ears.hear()?);
    let mut ring = heard.iter().filter(|it| is_ring_stream(it)).peekable();
    ensure!(ring.peek().is_some(), "the nodes sent nothing");
    let wrong = ring.find(|it| !is_right(it));
    ensure!(wrong.is_none(), "{wrong:02x?}");
    Ok(())
}

/// Changes the files of one node after another, while clients write posts. Between two nodes, the ring is mixed.
fn change(
    ring: &mut TestRing,
    files: &[KeyFiles],
    clients: &TestClients,
    keys: &[u8],
    accepts_unsigned: bool,
) -> Result<()> {
    for (id, files) in (1..).zip(files) {
        files.write(keys, accepts_unsigned)?;
        reload_keys(ring.node(id), keys, accepts_unsigned)?;
        ring.wait_for_rounds(&[1, 2, 3])?;
        clients.wait_for_posts(3);
    }
    Ok(())
}

fn a_ring_under_load_gets_keys_and_replaces_its_key_without_a_gap() -> Result<()> {
    let mut ring = TestRing::without_nodes(3, DatabaseKind::Sqlite)?;
    let ears = Eavesdropper::at_hub(ring.segment())?;
    let files = KeyFiles::several("board", 3)?;
    start(&mut ring, &files)?;
    let all = [1, 2, 3];
    ring.wait_for_ring(&all)?;
    let clients = TestClients::start(&ring);
    clients.wait_for_posts(3);
    // Without keys, anyone can read the tokens.
    overhear(&ears, |_| true)?;
    ring.wait_for_rounds(&all)?;
    ensure!(streams(&ears.hear()?).iter().any(holds_token));
    let before = changes(&ring, &all)?;
    for (keys, accepts_unsigned) in [
        (&[1][..], true),
        (&[1], false),
        (&[1, 2], false),
        (&[2, 1], false),
        (&[2], false),
    ] {
        change(&mut ring, &files, &clients, keys, accepts_unsigned)?;
        // A round may end a connection to a successor once. If it ends twice within ack-timeout, the successor has
        // failed.
        thread::sleep(ACK_TIMEOUT + Duration::from_millis(200));
        if accepts_unsigned {
            check_signers(ring.node(1), &["unsigned_accepted"], &[])?;
            continue;
        }
        ears.hear()?;
        ring.wait_for_rounds(&all)?;
        overhear(&ears, |stream| !holds_token(stream))?;
    }
    let after = changes(&ring, &all)?;
    ensure!(before == after, "{before:?} became {after:?}");
    for id in all {
        check_signers(ring.node(id), &[], &[("none", 0)])?;
        let status = ring.wait(id, |_| true)?;
        let keys = &status["node_keys"];
        ensure!(
            keys.as_object()
                .is_some_and(|it| it.values().all(|key| key == 2)),
            "{keys}"
        );
        let neighbors = status["neighbors"].as_array();
        ensure!(
            neighbors.is_some_and(|it| it.len() == 2 && it.iter().all(|it| it["key"] == 2)),
            "{status:#}"
        );
    }
    clients.end(&ring)
}

/// The nodes 1 and 2 have a key. They accept node 3, which has none.
fn a_neighbor_without_a_key_is_named() -> Result<()> {
    let mut ring = TestRing::without_nodes(3, DatabaseKind::Sqlite)?;
    let files = KeyFiles::several("board", 3)?;
    for files in &files[..2] {
        files.write(&[1], true)?;
    }
    start(&mut ring, &files)?;
    ring.wait_for_ring(&[1, 2, 3])?;
    for id in [1, 2] {
        let status = ring.wait(id, |status| {
            status["neighbors"]
                .as_array()
                .is_some_and(|it| it.len() == 2)
        })?;
        for neighbor in status["neighbors"].as_array().into_iter().flatten() {
            let key = if neighbor["node"] == 3 {
                json!(null)
            } else {
                json!(1)
            };
            ensure!(
                neighbor["key"] == key && neighbor["before_keys"] == false,
                "{status:#}"
            );
        }
        let findings = ["member_unsigned", "unsigned_accepted"];
        check_signers(ring.node(id), &findings, &[("1", 1), ("none", 1)])?;
        let metrics = ring.node(id).ringctl(&["metrics"])?;
        let metrics = String::from_utf8(metrics.stdout)?;
        for protection in ["encrypted", "plain"] {
            let end = format!("protection=\"{protection}\"}} 1");
            let is_sample =
                |line: &str| line.contains("neighbor_connections{") && line.ends_with(&end);
            ensure!(metrics.lines().any(is_sample), "{metrics}");
        }
    }
    Ok(())
}
