//! A node that only its page wakes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, tests};
use serde_json::json;

use super::http::{post_request, raw};
use super::test_ring::{DatabaseKind, TestRing};

/// Less than the 10 s after which an idle loop wakes up for its own checks.
const WAKE_UP_MAX: Duration = Duration::from_secs(5);

pub(crate) fn tests() -> Vec<Test> {
    tests![a_page_wakes_its_node_and_the_node_its_worker]
}

/// Checks how fast a post is written by a node that holds the token for the whole test and has no earlier deadline.
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
    // The first post may find the loop awake, and a busy machine may delay another one.
    let shortest = times[1..].iter().min().context("there are some")?;
    ensure!(*shortest < WAKE_UP_MAX, "{times:?}");
    Ok(())
}
