//! Requests to the pages of nodes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};
use ring_segment::PATIENCE;
use serde_json::Value;

use super::stand::Stand;

/// Where browsers are answered.
const HTTP: u16 = 8080;

/// An answer.
#[derive(Debug)]
pub struct Said {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Said {
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.body).with_context(|| format!("{self:?}"))
    }
}

/// Connects to a node's page from its own machine, where it is reached even if that is cut off. Reading gives up after so long.
pub fn connect(stand: &Stand, id: usize, patience: Duration) -> Result<TcpStream> {
    let node = stand.segment().node(id - 1);
    let ip = node.ip().context("it has an address")?;
    let stream = node.ns().run(|| TcpStream::connect((ip, HTTP)))??;
    stream.set_read_timeout(Some(patience))?;
    Ok(stream)
}

/// Sends a request as it stands, and reads the answer to its end.
pub fn raw(stand: &Stand, id: usize, request: &[u8]) -> Result<Said> {
    exchange(connect(stand, id, PATIENCE)?, request)
}

/// The same on a connection.
pub fn exchange(mut stream: TcpStream, request: &[u8]) -> Result<Said> {
    // It may be refused before all of it is there.
    let _ = stream.write_all(request);
    let mut text = Vec::new();
    let read = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .with_context(|| format!("no head: {text} {read:?}"))?;
    let status = head.split(' ').nth(1).context("a status")?;
    Ok(Said {
        status: status.parse()?,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    })
}

/// A request.
pub fn request(line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Asks a node.
pub fn ask(stand: &Stand, id: usize, line: &str, headers: &str, body: &str) -> Result<Said> {
    raw(stand, id, request(line, headers, body).as_bytes())
}

/// Asks a node for a path.
pub fn get(stand: &Stand, id: usize, path: &str) -> Result<Said> {
    ask(stand, id, &format!("GET {path}"), "", "")
}

/// What writes a post.
pub fn posting(what: &Value) -> String {
    let headers = "Content-Type: application/json\r\n";
    request("POST /posts", headers, &what.to_string())
}

/// Writes a post at a node.
pub fn post(stand: &Stand, id: usize, what: &Value) -> Result<Said> {
    raw(stand, id, posting(what).as_bytes())
}
