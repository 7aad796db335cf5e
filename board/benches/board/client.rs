//! A client of a node's page. The client sends all requests on one connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use ring_segment::NetNs;
use serde_json::Value;

/// The address of each page. Only the machine of the node can reach it, so the page needs no password.
pub(crate) const PAGE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
/// Time limit for each read from the connection. Every request takes less time than this maximum.
const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    /// Connects to a node's page, from the machine of the node.
    pub(crate) fn connect(ns: &NetNs) -> Result<Self> {
        let stream = ns.run(|| TcpStream::connect(PAGE))??;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(crate) fn status(&mut self) -> Result<Value> {
        let (_, body) = self.ask("GET /ring", "", "")?;
        Ok(serde_json::from_slice(&body)?)
    }

    /// Writes a post. Returns whether the node wrote the post.
    pub(crate) fn post(&mut self, text: &str) -> Result<bool> {
        let body = serde_json::json!({"author": "bench", "text": text}).to_string();
        let kind = "Content-Type: application/json\r\n";
        let (code, _) = self.ask("POST /posts", kind, &body)?;
        Ok(code == 201)
    }

    fn ask(&mut self, what: &str, headers: &str, body: &str) -> Result<(u16, Vec<u8>)> {
        let length = body.len();
        let request = format!(
            "{what} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let code = line.split(' ').nth(1).context("no answer")?.parse()?;
        let mut length = 0;
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            match line.trim_end().to_ascii_lowercase().split_once(": ") {
                Some(("content-length", value)) => length = value.parse()?,
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok((code, body))
    }
}
