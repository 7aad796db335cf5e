//! Checks of any implementation of a node, with one module for each level
//! (`docs/board/protocol/conformance.md`). The program under test is a black box: the checks use its messages, its rows
//! in the database, and its page. Start with `stand.rs`.

pub(crate) mod coordinator;
mod frames;
pub(crate) mod full;
pub(crate) mod member;
mod peer;
mod rows;
mod stand;

use anyhow::{Result, ensure};
use ring_segment::Test;
use serde_json::json;

use super::http::{get, post};
use super::test_ring::TestRing;

pub(crate) fn tests() -> Vec<Test> {
    let levels = [full::tests(), coordinator::tests(), member::tests()];
    levels.into_iter().flatten().collect()
}

/// Writes a post at each node, and checks that each node shows all these posts.
fn post_everywhere(ring: &TestRing, text: &str) -> Result<()> {
    let count = ring.segment().nodes().len();
    for id in 1..=count {
        let answer = post(
            ring,
            id,
            &json!({"author": "a", "text": format!("{text} {id}")}),
        )?;
        ensure!(
            matches!(answer.status, 200 | 201),
            "rule P2 (token.md): node {id} answers {answer:?}"
        );
    }
    for id in 1..=count {
        let shown = get(ring, id, "/posts")?.body;
        for author in 1..=count {
            ensure!(
                shown.contains(&format!("{text} {author}")),
                "rule D8 (database.md): node {id} does not show the post of node {author}: {shown}"
            );
        }
    }
    Ok(())
}
