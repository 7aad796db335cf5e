//! etcd's lock, over its gateway from HTTP and JSON to gRPC.
//!
//! A waiter's server watches for the release of the lock before its own. It hears of one that has
//! happened by then only when the next look is taken, every 100 ms: most of the time that hand-overs take.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{PATIENCE, POLL, Server, address, connect};
use crate::contest::Lock;
use crate::real::fabric::Place;

const CLIENTS: u16 = 2379;
const PEERS: u16 = 2380;
/// What the lock is called, in base64.
const NAME: &str = "bG9jaw==";

/// A member on every node.
pub(super) struct Cluster {
    _members: Vec<Server>,
}

impl Cluster {
    /// Starts one, with all of etcd's defaults, and waits until it works.
    pub(super) fn start(nodes: &[Place]) -> Result<Self> {
        let url = |at, port| anyhow::Ok(format!("http://{}:{port}", address(at)?));
        let all = (0..nodes.len()).map(|at| Ok(format!("node{at}={}", url(at, PEERS)?)));
        let all = all.collect::<Result<Vec<_>>>()?.join(",");
        let members = nodes.iter().enumerate().map(|(at, place)| {
            let (clients, peers) = (url(at, CLIENTS)?, url(at, PEERS)?);
            let options = [
                format!("--name=node{at}"),
                format!("--listen-client-urls={clients}"),
                format!("--advertise-client-urls={clients}"),
                format!("--listen-peer-urls={peers}"),
                format!("--initial-advertise-peer-urls={peers}"),
                format!("--initial-cluster={all}"),
            ];
            Server::start(("etcd", "etcd-server"), at, place, "--data-dir", &options)
        });
        let cluster = Self {
            _members: members.collect::<Result<_>>()?,
        };
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = cluster.clients(nodes) {
            ensure!(Instant::now() < deadline, "etcd does not answer: {error:#}");
            thread::sleep(POLL);
        }
        Ok(cluster)
    }

    /// A program on every node.
    #[expect(clippy::unused_self, reason = "there are members to talk to")]
    pub(super) fn clients(&self, nodes: &[Place]) -> Result<Vec<Client>> {
        let nodes = nodes.iter().enumerate();
        nodes.map(|(at, node)| Client::connect(at, node)).collect()
    }
}

/// A program with a lease of its own.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
    lease: Value,
    key: Value,
}

impl Client {
    fn connect(at: usize, node: &Place) -> Result<Self> {
        let stream = connect(node, SocketAddrV4::new(address(at)?, CLIENTS))?;
        let mut client = Self {
            stream: BufReader::new(stream),
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
            ensure!(self.stream.read_line(&mut line)? > 0, "etcd has hung up");
            let header = line.split_once(": ");
            if let Some((_, value)) = header.filter(|it| it.0 == "Content-Length") {
                length = Some(value.trim().parse()?);
            }
        }
        let mut answer = vec![0; length.context("etcd says no length")?];
        self.stream.read_exact(&mut answer)?;
        let answer = serde_json::from_slice(&answer)?;
        ensure!(is_fine, "etcd refuses {path}: {answer}");
        Ok(answer)
    }
}

impl Lock for Client {
    fn lock(&mut self) -> Result<()> {
        let wanted = json!({"name": NAME, "lease": self.lease});
        self.key = self.post("/v3/lock/lock", &wanted)?["key"].take();
        Ok(())
    }

    fn unlock(&mut self) -> Result<()> {
        let key = json!({"key": self.key.take()});
        self.post("/v3/lock/unlock", &key).map(drop)
    }
}
