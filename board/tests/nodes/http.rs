//! Requests to the pages of nodes.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ring_segment::PATIENCE;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use super::stand::Stand;

/// Where browsers are answered.
const HTTP: u16 = 8080;
/// Before a node that was busy is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// An answer.
#[derive(Debug)]
pub(crate) struct Said {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Said {
    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.body).with_context(|| format!("{self:?}"))
    }
}

/// Connects to a node's page from its own machine, where it is reached even if that is cut off. Reading gives up after so long.
pub(crate) fn connect(stand: &Stand, id: usize, patience: Duration) -> Result<TcpStream> {
    let node = stand.segment().node(id - 1);
    let ip = node.ip().context("it has an address")?;
    let stream = node.ns().run(|| TcpStream::connect((ip, HTTP)))??;
    stream.set_read_timeout(Some(patience))?;
    Ok(stream)
}

/// Connects to a page as another client of the same machine: limits count by address.
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

/// Sends a request as it stands, and reads the answer to its end.
pub(crate) fn raw(stand: &Stand, id: usize, request: &[u8]) -> Result<Said> {
    exchange(connect(stand, id, PATIENCE)?, request)
}

/// The same on a connection.
pub(crate) fn exchange(mut stream: TcpStream, request: &[u8]) -> Result<Said> {
    // It may be refused before all of it is there.
    let _ = stream.write_all(request);
    let mut text = Vec::new();
    let read = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    // A client other than Linux discards an answer, whole or not, when it gets a reset.
    read.with_context(|| format!("the answer has no end: {text}"))?;
    let (head, body) = text
        .split_once("\r\n\r\n")
        .with_context(|| format!("no head: {text}"))?;
    let status = head.split(' ').nth(1).context("a status")?;
    Ok(Said {
        status: status.parse()?,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    })
}

/// A request.
pub(crate) fn request(line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Asks a node.
pub(crate) fn ask(stand: &Stand, id: usize, line: &str, headers: &str, body: &str) -> Result<Said> {
    raw(stand, id, request(line, headers, body).as_bytes())
}

/// Asks a node for a path, again and again after a 503 or a 429.
pub(crate) fn get(stand: &Stand, id: usize, path: &str) -> Result<Said> {
    unless_busy(|| ask(stand, id, &format!("GET {path}"), "", ""))
}

/// What is answered if it is no 503 and no 429. As any client is to, it asks again after one: on a busy machine the token, or the
/// database, may come late.
fn unless_busy(asked: impl Fn() -> Result<Said>) -> Result<Said> {
    let by = Instant::now() + PATIENCE;
    loop {
        let said = asked()?;
        if ![429, 503].contains(&said.status) || by < Instant::now() {
            return Ok(said);
        }
        thread::sleep(PAUSE);
    }
}

/// What writes a post.
pub(crate) fn posting(what: &Value) -> String {
    let headers = "Content-Type: application/json\r\n";
    request("POST /posts", headers, &what.to_string())
}

/// Writes a post at a node, again and again after a 503 or a 429, with the same key: it is written once. A 200 means that an earlier attempt
/// has written it.
pub(crate) fn post(stand: &Stand, id: usize, what: &Value) -> Result<Said> {
    static POSTS: AtomicU64 = AtomicU64::new(0);
    let mut what = what.clone();
    let keys = what.as_object_mut().context("no object")?;
    keys.entry("key")
        .or_insert_with(|| format!("post-{}", POSTS.fetch_add(1, Ordering::Relaxed)).into());
    unless_busy(|| raw(stand, id, posting(&what).as_bytes()))
}
