//! The nodes on a segment, the list of these nodes, and their database.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use ring_segment::{Binaries, Daemon, Layout, PostgreSql, Ringd, Segment, WAIT_LIMIT, program};
use serde_json::Value;
use tempfile::TempDir;

/// Returns the programs under test.
pub(crate) fn binaries() -> Binaries {
    Binaries {
        ringd: env!("CARGO_BIN_EXE_ring-board"),
        ringctl: program("ringctl"),
    }
}
pub(crate) const PORT: u16 = 7400;

/// The options of nodes. The times are short enough for tests, and longer than the stalls that tests inject.
const NODE_OPTIONS: [(&str, &str); 7] = [
    ("--http", "127.0.0.1:8080"),
    ("--hold", "10ms"),
    ("--ack-timeout", "600ms"),
    ("--token-timeout", "2s"),
    ("--poll", "200ms"),
    ("--alone-timeout", "6s"),
    ("--database-timeout", "2s"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseKind {
    Sqlite,
    PostgreSql,
}

/// The nodes of a test, numbered from 1. Each machine of the segment runs one node.
pub(crate) struct TestRing {
    segment: Segment,
    folder: TempDir,
    nodes: Vec<Daemon>,
    database: String,
    server: Option<PostgreSql>,
    /// A node that may be a foreign program. The test does not use its control socket.
    judged: Option<usize>,
}

impl TestRing {
    /// Creates a segment, a list of all its machines, and a database, but no nodes.
    pub(crate) fn without_nodes(count: usize, kind: DatabaseKind) -> Result<Self> {
        Self::on(Layout::new(count).addresses().bridge()?, kind)
    }

    /// Creates a list of all machines of a segment, and a database, but no nodes.
    pub(crate) fn on(segment: Segment, kind: DatabaseKind) -> Result<Self> {
        let folder = tempfile::tempdir_in("/run")?;
        let mut list = fs::File::create(folder.path().join("nodes.csv"))?;
        writeln!(list, "id,address,port,http_port")?;
        for (id, node) in (1..).zip(segment.nodes()) {
            let ip = node.ip().context("it has an address")?;
            writeln!(list, "{id},{ip},{PORT},8080")?;
            // A node that knows no other node connects to itself.
            node.ns().ip("link set lo up\n")?;
        }
        let server = (kind == DatabaseKind::PostgreSql)
            .then(|| PostgreSql::start(tempfile::tempdir_in("/run")?))
            .transpose()?;
        let database = server.as_ref().map_or_else(
            || format!("sqlite://{}/board.db", folder.path().display()),
            PostgreSql::url,
        );
        Ok(Self {
            segment,
            folder,
            nodes: Vec::new(),
            database,
            server,
            judged: None,
        })
    }

    /// Creates a segment, a list and a database, and starts a node on each machine.
    pub(crate) fn new(count: usize, kind: DatabaseKind, options: &[(&str, &str)]) -> Result<Self> {
        let mut ring = Self::without_nodes(count, kind)?;
        for id in 1..=count {
            let mut node = ring.options(id)?;
            for (name, value) in options {
                node = node.option(name, value);
            }
            ring.add(node)?;
        }
        Ok(ring)
    }

    /// Starts the next node. Nodes start in the order of their ids.
    pub(crate) fn add(&mut self, node: Ringd) -> Result<()> {
        self.nodes.push(node.spawn()?);
        Ok(())
    }

    /// Creates a ring like [`TestRing::new`]. The node with this id is the judged program.
    pub(crate) fn with_judged(count: usize, judged: usize) -> Result<Self> {
        let mut ring = Self::without_nodes(count, DatabaseKind::Sqlite)?;
        ring.judged = Some(judged);
        for id in 1..=count {
            let node = ring.options(id)?;
            let node = if id == judged { node.conform() } else { node };
            ring.nodes.push(node.spawn()?);
        }
        Ok(ring)
    }

    /// Returns the nodes among `ids` whose status the test may use.
    fn with_status(&self, ids: &[usize]) -> Vec<usize> {
        let has_status = |id: &usize| self.judged != Some(*id);
        ids.iter().copied().filter(has_status).collect()
    }

    /// Returns the command that starts a node. The command contains the options of this ring.
    pub(crate) fn options(&self, id: usize) -> Result<Ringd> {
        self.options_with(id, &[])
    }

    /// Returns the command that starts a node. Each option of `other` replaces the option with the same name.
    pub(crate) fn options_with(&self, id: usize, other: &[(&str, &str)]) -> Result<Ringd> {
        let node = self.segment.node(id - 1);
        node.wait_for_link()?;
        let mut ringd = node
            .ringd(binaries())
            .subcommand(&format!("--id={id}"))
            .without_state()
            .option("--nodes", self.list())
            .option("--database", &self.database);
        let is_replaced = |name: &str| other.iter().any(|(it, _)| *it == name);
        let kept = NODE_OPTIONS.iter().filter(|(name, _)| !is_replaced(name));
        for (name, value) in kept.chain(other) {
            ringd = ringd.option(name, value);
        }
        Ok(ringd)
    }

    pub(crate) fn list(&self) -> PathBuf {
        self.folder.path().join("nodes.csv")
    }

    pub(crate) fn database_file(&self) -> PathBuf {
        self.folder.path().join("board.db")
    }

    pub(crate) const fn segment(&self) -> &Segment {
        &self.segment
    }

    pub(crate) fn node(&mut self, id: usize) -> &mut Daemon {
        &mut self.nodes[id - 1]
    }

    /// Waits until a node's status satisfies `request`.
    pub(crate) fn wait(&self, id: usize, request: impl Fn(&Value) -> bool) -> Result<Value> {
        self.nodes[id - 1].wait_for_status(WAIT_LIMIT, request)
    }

    /// Waits until these nodes form one ring, agree on its order, and have the node with the largest id as coordinator.
    /// Then waits until the token has visited each node one more time.
    pub(crate) fn wait_for_ring(&self, ids: &[usize]) -> Result<()> {
        let asked = self.with_status(ids);
        let (&first, &largest) = (
            asked.first().context("there are none")?,
            ids.iter().max().context("there are none")?,
        );
        let is_in = |status: &Value| {
            let members: Vec<u64> = as_numbers(&status["members"]);
            let has = |id: &usize| members.contains(&(*id as u64));
            status["health"] != "critical"
                && members.len() == ids.len()
                && ids.iter().all(has)
                && status["coordinator"] == largest
                && status["acting"] == false
        };
        let give_up = Instant::now() + WAIT_LIMIT;
        loop {
            let status = self.wait(first, is_in)?;
            let mut agree = true;
            for &other in &asked[1..] {
                let seen = self.wait(other, is_in)?;
                agree &= seen["members"] == status["members"] && seen["term"] == status["term"];
                agree &= successor_in_members(&seen, other)? == seen["successor"];
            }
            if agree {
                break;
            }
            ensure!(Instant::now() < give_up, "they do not agree");
        }
        self.wait_for_rounds(ids)
    }

    /// Waits until the token has visited each of these nodes one more time. At that visit, the token's sequence must be
    /// larger than at the visit before.
    pub(crate) fn wait_for_rounds(&self, ids: &[usize]) -> Result<()> {
        for id in self.with_status(ids) {
            let before = self.wait(id, |_| true)?;
            let (count, sequence) = (tokens_received(&before), sequence(&before)?);
            self.wait(id, |status| tokens_received(status) > count + 1)?;
            let after = self.wait(id, |_| true)?;
            ensure!(self::sequence(&after)? > sequence, "{before:#}, {after:#}");
        }
        Ok(())
    }

    pub(crate) fn server(&mut self) -> Result<&mut PostgreSql> {
        self.server.as_mut().context("it is a file")
    }

    /// Sets the link of a node's machine `up` or `down`.
    pub(crate) fn set_link(&self, id: usize, state: &str) -> Result<()> {
        let ns = self.segment.node(id - 1).ns().clone();
        ns.ip(&format!("link set eth0 {state}\n"))
    }
}

fn as_numbers(value: &Value) -> Vec<u64> {
    let values = value.as_array().into_iter().flatten();
    values.filter_map(Value::as_u64).collect()
}

fn successor_in_members(status: &Value, id: usize) -> Result<Value> {
    let members = as_numbers(&status["members"]);
    let at = members.iter().position(|&it| it == id as u64);
    let at = at.context("it is a member")?;
    Ok(members[(at + 1) % members.len()].into())
}

/// Returns the number of tokens that a node received.
pub(crate) fn tokens_received(status: &Value) -> u64 {
    status["counters"]["received"]["TOKEN"]
        .as_u64()
        .unwrap_or(0)
}

/// Returns the largest sequence that a node has held.
pub(crate) fn sequence(status: &Value) -> Result<u64> {
    let text = status["token"]["sequence"].as_str();
    Ok(text.context("a decimal string")?.parse()?)
}
