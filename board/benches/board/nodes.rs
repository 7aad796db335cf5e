//! Nodes as processes.

use std::fs;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::ValueEnum;
use ring_segment::PostgreSql;
use serde_json::Value;
use tempfile::TempDir;

use super::client::{Client, PAGE};
use super::real::fabric::{Fabric, Kind as Wire};
use super::real::start::Start;

pub(crate) const PORT: u16 = 7400;
const TIMEOUT: Duration = Duration::from_secs(30);
/// The interval between two requests for a status. Each request disturbs the node.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DatabaseKind {
    Sqlite,
    Postgresql,
}

/// A ring of nodes, numbered from 0. The node at index 0 has id 1.
pub(crate) struct Ring {
    pub fabric: Fabric,
    nodes: Vec<Node>,
    options: Vec<String>,
    database: String,
    folder: TempDir,
    _server: Option<PostgreSql>,
}

/// The process of a node. Dropping this value kills the process.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn address(at: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, u8::try_from(at + 1).expect("there are few"))
}

impl Ring {
    /// Starts nodes, and waits until they form one ring.
    pub(crate) fn new(
        wire: Wire,
        count: usize,
        kind: DatabaseKind,
        options: &[&str],
    ) -> Result<Self> {
        // A veth pair has only two ends. A bridge has as many as needed.
        let fabric = Fabric::new(wire, count)?;
        // The files must be on a disk, because only there a write is really synchronized.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut list = fs::File::create(folder.path().join("nodes.csv"))?;
        for (at, place) in fabric.places.iter().enumerate() {
            let (id, ip) = (at + 1, address(at));
            writeln!(list, "{id},{ip},{PORT},{}", PAGE.port())?;
            place.ns().ip(&format!(
                "addr add {ip}/24 brd + dev eth0\nlink set lo up\n"
            ))?;
        }
        let server = (kind == DatabaseKind::Postgresql)
            .then(|| PostgreSql::start(tempfile::tempdir()?))
            .transpose()?;
        let database = server.as_ref().map_or_else(
            || format!("sqlite://{}/board.db", folder.path().display()),
            PostgreSql::url,
        );
        let mut ring = Self {
            fabric,
            nodes: Vec::new(),
            options: options.iter().map(|&it| it.to_owned()).collect(),
            database,
            folder,
            _server: server,
        };
        for at in 0..count {
            let node = ring.spawn(at)?;
            ring.nodes.push(node);
        }
        ring.wait_until_whole()?;
        Ok(ring)
    }

    fn spawn(&self, at: usize) -> Result<Node> {
        let program = Path::new(env!("CARGO_BIN_EXE_ring-board"));
        let folder = self.folder.path();
        let log = fs::File::create(folder.join(format!("log-{at}")))?;
        let place = &self.fabric.places[at];
        let process = Start::default().spawn(at, place, program, |command| {
            command.arg(format!("--id={}", at + 1));
            command.arg("--nodes").arg(folder.join("nodes.csv"));
            command.arg("--database").arg(&self.database);
            command
                .arg("--control")
                .arg(folder.join(format!("control-{at}")));
            command.arg(format!("--http={PAGE}"));
            command.args(&self.options);
            command.stdin(Stdio::null()).stdout(log);
        })?;
        Ok(Node(process))
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn client(&self, at: usize) -> Result<Client> {
        Client::connect(self.fabric.places[at].ns())
    }

    pub(crate) fn kill(&mut self, at: usize) -> Result<()> {
        self.nodes[at].0.kill()?;
        self.nodes[at].0.wait()?;
        Ok(())
    }

    /// Starts a dead node again, and waits until it is in the ring.
    pub(crate) fn start(&mut self, at: usize) -> Result<()> {
        self.nodes[at] = self.spawn(at)?;
        self.wait_until_whole()
    }

    /// Waits until all nodes form one ring, with the last node as coordinator.
    fn wait_until_whole(&self) -> Result<()> {
        let count = self.nodes.len();
        let is_whole = |status: &Value| {
            status["healthy"] != false
                && has_members(status, count)
                && status["successor"].is_u64()
                && is_led_by(status, count)
        };
        (0..count).try_for_each(|at| self.wait(at, is_whole).map(drop))
    }

    /// Waits until a node's status satisfies `is_so`.
    pub(crate) fn wait(&self, at: usize, is_so: impl Fn(&Value) -> bool) -> Result<Value> {
        let give_up = Instant::now() + TIMEOUT;
        loop {
            let status = self.client(at).and_then(|mut client| client.status());
            if let Ok(status) = status
                && is_so(&status)
            {
                return Ok(status);
            }
            ensure!(
                Instant::now() < give_up,
                "node {at} does not get the expected status"
            );
            thread::sleep(POLL_INTERVAL);
        }
    }
}

pub(crate) fn tokens_received(status: &Value) -> u64 {
    status["counters"]["received"]["TOKEN"]
        .as_u64()
        .unwrap_or(0)
}

pub(crate) fn has_members(status: &Value, count: usize) -> bool {
    let members = status["members"].as_array();
    members.is_some_and(|members| members.len() == count)
}

/// Whether the node with this id is the coordinator, and not only the acting coordinator.
pub(crate) fn is_led_by(status: &Value, id: usize) -> bool {
    status["coordinator"] == id && status["acting"] == false
}
