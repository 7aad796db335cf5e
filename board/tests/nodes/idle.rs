//! A node that only its page wakes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, tests};
use serde_json::json;

use super::http::{posting, raw};
use super::stand::{Kind, Stand};

/// Less than the 10 s after which an idle loop wakes up for its own checks.
const SOON: Duration = Duration::from_secs(5);

pub(crate) fn tests() -> Vec<Test> {
    tests![a_page_wakes_its_node_and_the_node_its_worker]
}

/// The node holds the token for longer than the test lasts, and has no earlier deadline.
fn a_page_wakes_its_node_and_the_node_its_worker() -> Result<()> {
    let options = [
        ("--hold", "1h"),
        ("--token-timeout", "1h"),
        ("--poll", "1h"),
        ("--alone-timeout", "3h"),
        ("--request-timeout", "1m"),
    ];
    let stand = Stand::new(1, Kind::Sqlite, &options)?;
    stand.wait(1, |status| status["token"]["held"] == true)?;
    let mut times = Vec::new();
    for number in 0..4 {
        let what =
            json!({"author": "a", "text": format!("{number}"), "key": format!("key-{number}")});
        let began = Instant::now();
        let said = raw(&stand, 1, posting(&what).as_bytes())?;
        ensure!(said.status == 201, "{said:?}");
        times.push(began.elapsed());
    }
    // The first post may find the loop awake, and a busy machine may delay another one.
    let shortest = times[1..].iter().min().context("there are some")?;
    ensure!(*shortest < SOON, "{times:?}");
    Ok(())
}
