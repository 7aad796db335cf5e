//! The token while more connect to a page than it takes, and one who listens does not read.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{PATIENCE, Test, tests};
use serde_json::{Value, json};

use super::http::{connect, connect_from, get, post};
use super::stand::{Kind, Stand};

/// Connections that say nothing: the page takes 512 at a time.
const CROWD: usize = 1_000;
/// This number of threads connects them, each from an address of its own, and waits this long for each.
const THREADS: u8 = 50;
const EACH: Duration = Duration::from_millis(100);
/// Posts at each of two nodes, as long as they may be.
const POSTS: usize = 100;

pub(crate) fn tests() -> Vec<Test> {
    // On time is within ack-timeout.
    tests![exclusive a_thousand_connections_and_one_who_does_not_read_leave_the_token_on_time]
}

fn a_thousand_connections_and_one_who_does_not_read_leave_the_token_on_time() -> Result<()> {
    let stand = Stand::new(3, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2, 3])?;
    let before = late(&stand)?;
    let mut deaf = BufReader::new(connect(&stand, 1, PATIENCE)?);
    deaf.get_mut()
        .write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    // It listens, and takes nothing from now on.
    let mut status = String::new();
    deaf.read_line(&mut status)?;
    ensure!(status.contains("200"), "{status}");
    let node = stand.segment().node(0);
    let page = (node.ip().context("it has an address")?, 8080).into();
    let crowd = node.ns().run(|| gather(page))?;
    ensure!(crowd.len() > 512, "{} are no crowd", crowd.len());

    let text = "\u{1f600}".repeat(2_000);
    for round in 0..POSTS {
        for id in [2, 3] {
            let said = post(&stand, id, &json!({"author": "a", "text": text}))?;
            ensure!(
                matches!(said.status, 200 | 201),
                "round {round}, node {id}: {said:?}"
            );
        }
    }
    stand.wait_for_rounds(&[1, 2, 3])?;
    // Each pass was acknowledged within ack-timeout, and nobody has missed the token.
    let after = late(&stand)?;
    ensure!(before == after, "{before:?} became {after:?}");

    drop(crowd);
    let (mut count, mut last) = (0, Value::from(0));
    // An answer has a MiB at most.
    while count < 2 * POSTS {
        let page = get(&stand, 1, &format!("/posts?after={last}&limit=1000"))?.json()?;
        let posts = page["posts"].as_array().context("no posts")?.len();
        ensure!(posts > 0, "{count} posts");
        (count, last) = (count + posts, page["last"].clone());
    }
    Ok(())
}

/// The term, and what each node counts of tokens that were late.
fn late(stand: &Stand) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for id in 1..=3 {
        let status = stand.wait(id, |_| true)?;
        all.push(status["term"].clone());
        for counter in ["passes_failed", "tokens_made", "tokens_lost", "claims"] {
            all.push(status["counters"][counter].clone());
        }
    }
    Ok(all)
}

/// Connects many at once, and gives those that are.
fn gather(page: SocketAddr) -> Vec<TcpStream> {
    let connect = |at| {
        let from = Ipv4Addr::new(127, 0, 1, at);
        let all = (0..CROWD / usize::from(THREADS)).map(|_| connect_from(page, from, EACH));
        all.flatten().collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (1..=THREADS)
            .map(|at| scope.spawn(move || connect(at)))
            .collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined.flat_map(Result::unwrap_or_default).collect()
    })
}
