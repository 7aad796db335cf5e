//! Requests to the pages of nodes.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ring_segment::WAIT_LIMIT;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use super::test_ring::TestRing;

/// The address of each page. Only the node's machine can reach it, so the page needs no password.
pub(crate) const PAGE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
/// The pause before a client repeats a request to a busy node.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl HttpAnswer {
    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.body).with_context(|| format!("{self:?}"))
    }
}

/// Connects to a node's page from the machine of the node. So the connection works even if the machine is cut off. Each
/// read from the connection times out after `patience`.
pub(crate) fn connect(ring: &TestRing, id: usize, patience: Duration) -> Result<TcpStream> {
    let node = ring.segment().node(id - 1);
    let stream = node.ns().run(|| TcpStream::connect(PAGE))??;
    stream.set_read_timeout(Some(patience))?;
    Ok(stream)
}

/// Connects to a page from a different address of the same machine. Tests need this because limits apply per address.
pub(crate) fn connect_from(
    page: SocketAddr,
    from: Ipv4Addr,
    within: Duration,
) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((from, 0)).into())?;
    socket.connect_timeout(&page.into(), within)?;
    Ok(socket.into())
}

/// Sends a request unchanged, and reads the answer to its end.
pub(crate) fn raw(ring: &TestRing, id: usize, request: &[u8]) -> Result<HttpAnswer> {
    exchange(connect(ring, id, WAIT_LIMIT)?, request)
}

/// Sends a request on a connection, and reads the answer to its end.
pub(crate) fn exchange(mut stream: TcpStream, request: &[u8]) -> Result<HttpAnswer> {
    // The node may refuse the request before it has received the whole request.
    let _ = stream.write_all(request);
    let mut text = Vec::new();
    let read = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    // Clients on other systems than Linux discard the answer when they get a reset.
    read.with_context(|| format!("the answer has no end: {text}"))?;
    let (head, body) = text
        .split_once("\r\n\r\n")
        .with_context(|| format!("no head: {text}"))?;
    let status = head.split(' ').nth(1).context("a status")?;
    Ok(HttpAnswer {
        status: status.parse()?,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    })
}

pub(crate) fn request(line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

pub(crate) fn ask(
    ring: &TestRing,
    id: usize,
    line: &str,
    headers: &str,
    body: &str,
) -> Result<HttpAnswer> {
    raw(ring, id, request(line, headers, body).as_bytes())
}

/// Sends a GET for a path to a node, and repeats the request after a 503 or a 429.
pub(crate) fn get(ring: &TestRing, id: usize, path: &str) -> Result<HttpAnswer> {
    retry_while_busy(|| ask(ring, id, &format!("GET {path}"), "", ""))
}

/// Repeats a request until its answer is neither 503 nor 429. Every client should do this. On a busy machine, the token
/// or the database may be late.
fn retry_while_busy(asked: impl Fn() -> Result<HttpAnswer>) -> Result<HttpAnswer> {
    let by = Instant::now() + WAIT_LIMIT;
    loop {
        let answer = asked()?;
        if ![429, 503].contains(&answer.status) || by < Instant::now() {
            return Ok(answer);
        }
        thread::sleep(PAUSE);
    }
}

/// Returns the text of a request that writes a post.
pub(crate) fn post_request(what: &Value) -> String {
    let headers = "Content-Type: application/json\r\n";
    request("POST /posts", headers, &what.to_string())
}

/// Writes a post at a node, and tries again after a 503 or a 429. The key stays the same, so the post is written only
/// once. An answer of 200 means that an earlier attempt already wrote the post.
pub(crate) fn post(ring: &TestRing, id: usize, what: &Value) -> Result<HttpAnswer> {
    static POSTS: AtomicU64 = AtomicU64::new(0);
    let mut what = what.clone();
    let keys = what.as_object_mut().context("no object")?;
    keys.entry("key")
        .or_insert_with(|| format!("post-{}", POSTS.fetch_add(1, Ordering::Relaxed)).into());
    retry_while_busy(|| raw(ring, id, post_request(&what).as_bytes()))
}
