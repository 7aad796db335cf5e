//! Rings whose nodes have keys.

mod attacker;
mod roll_out;
mod streams;

use std::time::Duration;

use anyhow::Result;
use ring_segment::{KeyFiles, Test};
use serde_json::{Value, json};

use super::test_ring::TestRing;

/// Times of the nodes. They are longer than the stalls of a busy machine, because no node may miss a token.
const TIMES: [(&str, &str); 3] = [
    ("--ack-timeout", "1500ms"),
    ("--token-timeout", "4s"),
    ("--alone-timeout", "9s"),
];
const ACK_TIMEOUT: Duration = Duration::from_millis(1500);
/// The start of each TOKEN, except the id of its sender.
const TOKEN: [u8; 4] = [1, 4, 0, 0];

pub(crate) fn tests() -> Vec<Test> {
    let tests = [roll_out::tests(), attacker::tests(), streams::tests()].concat();
    tests.into_iter().map(Test::without_stalls).collect()
}

/// Starts a node on the first machines, one for each of the files.
fn start(ring: &mut TestRing, files: &[KeyFiles]) -> Result<()> {
    for (id, files) in (1..).zip(files) {
        let node = ring.options_with(id, &TIMES)?;
        ring.add(files.add_to(node))?;
    }
    Ok(())
}

/// Returns the counts of changes of the ring. No count may change while nodes get their keys. If a connection ends
/// while it carries a token, its sender repeats the token. The receiver may drop one of both, so `tokens_lost` is
/// missing here.
fn changes(ring: &TestRing, ids: &[usize]) -> Result<Vec<Value>> {
    let names = ["tokens_made", "claims", "removals"];
    let mut all = Vec::new();
    for &id in ids {
        let status = ring.wait(id, |_| true)?;
        all.push(json!([status["term"], status["members"]]));
        all.extend(names.map(|name| status["counters"][name].clone()));
    }
    Ok(all)
}
