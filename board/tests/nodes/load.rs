//! Tests of the token under load: while a page gets more connections than it accepts, and while a listener does not
//! read.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};
use serde_json::{Value, json};

use super::http::{PAGE, connect, connect_from, get, post};
use super::test_ring::{DatabaseKind, TestRing};

/// The number of connections that send nothing. The page accepts at most 512 simultaneous connections.
const CONNECTIONS: usize = 1_000;
/// The number of threads that open these connections. Each of these threads has its own address.
const THREADS: u8 = 50;
/// The time limit for opening each of these connections.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(100);
/// The number of posts that the test writes at each of two nodes. Each post has the maximum length.
const POSTS: usize = 100;

pub(crate) fn tests() -> Vec<Test> {
    // A pass is on time if it is acknowledged within ack-timeout.
    tests![exclusive a_thousand_connections_and_a_client_that_does_not_read_do_not_delay_the_token]
}

fn a_thousand_connections_and_a_client_that_does_not_read_do_not_delay_the_token() -> Result<()> {
    let ring = TestRing::new(3, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2, 3])?;
    let before = late_token_counters(&ring)?;
    let mut silent_listener = BufReader::new(connect(&ring, 1, WAIT_LIMIT)?);
    silent_listener
        .get_mut()
        .write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    // After this, the listener does not read.
    let mut status = String::new();
    silent_listener.read_line(&mut status)?;
    ensure!(status.contains("200"), "{status}");
    let node = ring.segment().node(0);
    let connections = node.ns().run(|| connect_many(PAGE))?;
    ensure!(
        connections.len() > 512,
        "{} are no crowd",
        connections.len()
    );

    let text = "\u{1f600}".repeat(2_000);
    for round in 0..POSTS {
        for id in [2, 3] {
            let answer = post(&ring, id, &json!({"author": "a", "text": text}))?;
            ensure!(
                matches!(answer.status, 200 | 201),
                "round {round}, node {id}: {answer:?}"
            );
        }
    }
    ring.wait_for_rounds(&[1, 2, 3])?;
    // Each pass was acknowledged within ack-timeout, and no node has missed the token.
    let after = late_token_counters(&ring)?;
    ensure!(before == after, "{before:?} became {after:?}");

    drop(connections);
    let (mut count, mut last) = (0, Value::from(0));
    // One answer contains at most 1 MiB.
    while count < 2 * POSTS {
        let page = get(&ring, 1, &format!("/posts?after={last}&limit=1000"))?.json()?;
        let posts = page["posts"].as_array().context("no posts")?.len();
        ensure!(posts > 0, "{count} posts");
        (count, last) = (count + posts, page["last"].clone());
    }
    Ok(())
}

fn late_token_counters(ring: &TestRing) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for id in 1..=3 {
        let status = ring.wait(id, |_| true)?;
        all.push(status["term"].clone());
        for counter in ["passes_failed", "tokens_made", "tokens_lost", "claims"] {
            all.push(status["counters"][counter].clone());
        }
    }
    Ok(all)
}

/// Opens many connections at once, and returns the accepted connections.
fn connect_many(page: SocketAddr) -> Vec<TcpStream> {
    let connect = |at| {
        let from = Ipv4Addr::new(127, 0, 1, at);
        let all = (0..CONNECTIONS / usize::from(THREADS))
            .map(|_| connect_from(page, from, CONNECT_TIMEOUT));
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
