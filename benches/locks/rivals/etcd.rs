//! Etcd's lock, used through the gateway that translates HTTP with JSON to gRPC.
//!
//! Each waiting client has a key in a queue of keys. The server of the client watches the key before this key. If the
//! watched key is deleted before the watch begins, the server notices the deletion only at its next periodic check.
//! Checks are 100 ms apart, so handovers mostly consist of this delay.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddrV4, TcpStream};

use anyhow::{Context, Result, ensure};
use ring_segment::Node;
use serde_json::{Value, json};

use super::{Server, address, connect, wait_for};
use crate::contest::Lock;
use crate::names::{ByName, lock_name};

const CLIENTS: u16 = 2379;
const PEERS: u16 = 2380;

/// Starts a member on every node with etcd's default settings, and waits until all of them work.
pub(crate) fn start(nodes: &[Node]) -> Result<Vec<Server>> {
    let members = nodes.iter().map(|node| start_member(node, nodes));
    let members = members.collect::<Result<_>>()?;
    wait_until_ready(nodes)?;
    Ok(members)
}

pub(crate) fn start_member(node: &Node, nodes: &[Node]) -> Result<Server> {
    let named = |node: &Node| Ok(format!("node{}={}", node.index(), url(node, PEERS)?));
    let all = nodes.iter().map(named).collect::<Result<Vec<_>>>()?;
    let (clients, peers) = (url(node, CLIENTS)?, url(node, PEERS)?);
    let options = [
        format!("--name=node{}", node.index()),
        format!("--listen-client-urls={clients}"),
        format!("--advertise-client-urls={clients}"),
        format!("--listen-peer-urls={peers}"),
        format!("--initial-advertise-peer-urls={peers}"),
        format!("--initial-cluster={}", all.join(",")),
        "--data-dir".to_owned(),
    ];
    Server::start(("etcd", "etcd-server"), node, &options)
}

pub(crate) fn wait_until_ready(nodes: &[Node]) -> Result<()> {
    wait_for(|| clients(nodes).map(drop)).context("etcd does not answer")
}

pub(crate) fn clients(nodes: &[Node]) -> Result<Vec<Client>> {
    nodes.iter().map(Client::connect).collect()
}

/// Returns the address under which clients reach a member.
pub(crate) fn endpoint(node: &Node) -> Result<String> {
    url(node, CLIENTS)
}

fn url(node: &Node, port: u16) -> Result<String> {
    Ok(format!("http://{}:{port}", address(node)?))
}

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    /// Name of the lock, in Base64.
    name: String,
    lease: Value,
    key: Value,
}

impl Client {
    fn connect(node: &Node) -> Result<Self> {
        let stream = connect(node, SocketAddrV4::new(address(node)?, CLIENTS))?;
        let mut client = Self {
            stream: BufReader::new(stream),
            name: lock_name(0),
            lease: Value::Null,
            key: Value::Null,
        };
        let mut granted = client.post("/v3/lease/grant", &json!({"TTL": "3600"}))?;
        client.lease = granted["ID"].take();
        ensure!(client.lease.is_string(), "no lease: {granted}");
        Ok(client)
    }

    fn post(&mut self, path: &str, body: &Value) -> Result<Value> {
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: etcd\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.stream.get_mut().write_all((head + &body).as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let is_fine = line.starts_with("HTTP/1.1 200");
        let mut length = None;
        while line != "\r\n" {
            line.clear();
            ensure!(
                self.stream.read_line(&mut line)? > 0,
                "etcd has closed the connection"
            );
            let header = line.split_once(": ");
            if let Some((_, value)) = header.filter(|it| it.0 == "Content-Length") {
                length = Some(value.trim().parse()?);
            }
        }
        let mut answer = vec![0; length.context("etcd's answer has no length")?];
        self.stream.read_exact(&mut answer)?;
        let answer = serde_json::from_slice(&answer)?;
        ensure!(is_fine, "etcd refuses a request for {path}: {answer}");
        Ok(answer)
    }
}

impl Lock for Client {
    fn lock(&mut self) -> Result<()> {
        let wanted = json!({"name": self.name, "lease": self.lease});
        self.key = self.post("/v3/lock/lock", &wanted)?["key"].take();
        Ok(())
    }

    fn unlock(&mut self) -> Result<()> {
        let key = json!({"key": self.key.take()});
        self.post("/v3/lock/unlock", &key).map(drop)
    }
}

impl ByName for Client {
    fn choose(&mut self, number: u64) {
        self.name = lock_name(number);
    }
}
