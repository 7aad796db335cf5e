//! A test of a node whose event loop wakes up only when a request to the node's page arrives.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, tests};
use serde_json::json;

use super::http::{post_request, raw};
use super::test_ring::{DatabaseKind, TestRing};

/// The maximum time for a post. An idle loop wakes up for its regular checks only after 10 s, so such a check cannot
/// cause the post.
const WAKE_UP_MAX: Duration = Duration::from_secs(5);

pub(crate) fn tests() -> Vec<Test> {
    tests![a_page_wakes_its_node_and_the_node_its_worker]
}

/// Checks how fast a node writes a post. The node holds the token for the whole test, and its loop has no deadline
/// before the post.
fn a_page_wakes_its_node_and_the_node_its_worker() -> Result<()> {
    let options = [
        ("--hold", "1h"),
        ("--token-timeout", "1h"),
        ("--poll", "1h"),
        ("--alone-timeout", "3h"),
        ("--request-timeout", "1m"),
    ];
    let ring = TestRing::new(1, DatabaseKind::Sqlite, &options)?;
    ring.wait(1, |status| status["token"]["held"] == true)?;
    let mut times = Vec::new();
    for number in 0..4 {
        let what =
            json!({"author": "a", "text": format!("{number}"), "key": format!("key-{number}")});
        let began = Instant::now();
        let answer = raw(&ring, 1, post_request(&what).as_bytes())?;
        ensure!(answer.status == 201, "{answer:?}");
        times.push(began.elapsed());
    }
    // At the first post, the loop may be awake already. A busy machine may delay another post.
    let shortest = times[1..].iter().min().context("there are some")?;
    ensure!(*shortest < WAKE_UP_MAX, "{times:?}");
    Ok(())
}
