//! Nodes on a segment, with their list and their database.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use ring_segment::{Binaries, Daemon, Layout, PATIENCE, PostgreSql, Ringd, Segment, program};
use serde_json::Value;
use tempfile::TempDir;

/// The node, and what asks it.
pub(crate) fn binaries() -> Binaries {
    Binaries {
        ringd: env!("CARGO_BIN_EXE_ring-board"),
        ringctl: program("ringctl"),
    }
}
/// Where nodes listen to one another.
pub(crate) const PORT: u16 = 7400;

/// Times short enough for tests, and longer than nodes stand still under stalls.
const TIMES: [(&str, &str); 6] = [
    ("--hold", "10ms"),
    ("--ack-timeout", "600ms"),
    ("--token-timeout", "2s"),
    ("--poll", "200ms"),
    ("--alone-timeout", "6s"),
    ("--database-timeout", "2s"),
];

/// Which database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    PostgreSql,
}

/// Nodes, numbered from 1, one on each machine of a segment.
pub(crate) struct Stand {
    segment: Segment,
    folder: TempDir,
    nodes: Vec<Daemon>,
    database: String,
    server: Option<PostgreSql>,
}

impl Stand {
    /// A segment, a list of all its machines, and a database. No node runs.
    pub(crate) fn without_nodes(count: usize, kind: Kind) -> Result<Self> {
        let segment = Layout::new(count).addresses().bridge()?;
        let folder = tempfile::tempdir_in("/run")?;
        let mut list = fs::File::create(folder.path().join("nodes.csv"))?;
        writeln!(list, "id,address,port,http_port")?;
        for (id, node) in (1..).zip(segment.nodes()) {
            let ip = node.ip().context("it has an address")?;
            writeln!(list, "{id},{ip},{PORT},8080")?;
            // A node alone is its own successor.
            node.ns().ip("link set lo up\n")?;
        }
        let server = (kind == Kind::PostgreSql)
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
        })
    }

    /// The same with a node on each machine.
    pub(crate) fn new(count: usize, kind: Kind, options: &[(&str, &str)]) -> Result<Self> {
        let mut stand = Self::without_nodes(count, kind)?;
        for id in 1..=count {
            let mut node = stand.options(id)?;
            for (name, value) in options {
                node = node.option(name, value);
            }
            stand.nodes.push(node.spawn()?);
        }
        Ok(stand)
    }

    /// A node that is to be started, with the times of this stand.
    pub(crate) fn options(&self, id: usize) -> Result<Ringd> {
        let node = self.segment.node(id - 1);
        node.wait_for_link()?;
        let mut ringd = node
            .ringd(binaries())
            .subcommand(&format!("--id={id}"))
            .without_state()
            .option("--nodes", self.list())
            .option("--database", &self.database);
        for (name, value) in TIMES {
            ringd = ringd.option(name, value);
        }
        Ok(ringd)
    }

    /// The list of nodes.
    pub(crate) fn list(&self) -> PathBuf {
        self.folder.path().join("nodes.csv")
    }

    /// The segment.
    pub(crate) const fn segment(&self) -> &Segment {
        &self.segment
    }

    /// One of the nodes.
    pub(crate) fn node(&mut self, id: usize) -> &mut Daemon {
        &mut self.nodes[id - 1]
    }

    /// A node's status as soon as it is as `wanted`.
    pub(crate) fn wait(&self, id: usize, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        self.nodes[id - 1].wait_for_status(PATIENCE, wanted)
    }

    /// Waits until these nodes are one ring, in one order, the largest of them coordinator, and the token has been at each of
    /// them since.
    pub(crate) fn wait_for_ring(&self, those: &[usize]) -> Result<()> {
        let (&first, &largest) = (
            those.first().context("there are none")?,
            those.iter().max().context("there are none")?,
        );
        let is_in = |status: &Value| {
            let members: Vec<u64> = numbers(&status["members"]);
            let has = |id: &usize| members.contains(&(*id as u64));
            status["health"] != "critical"
                && members.len() == those.len()
                && those.iter().all(has)
                && status["coordinator"] == largest
                && status["acting"] == false
        };
        let give_up = Instant::now() + PATIENCE;
        loop {
            let status = self.wait(first, is_in)?;
            let mut agree = true;
            for &other in &those[1..] {
                let seen = self.wait(other, is_in)?;
                agree &= seen["members"] == status["members"] && seen["term"] == status["term"];
                agree &= next_of(&seen, other)? == seen["successor"];
            }
            if agree {
                break;
            }
            ensure!(Instant::now() < give_up, "they do not agree");
        }
        self.wait_for_rounds(those)
    }

    /// Waits until the token has been at each of these nodes once more, with a sequence that has grown.
    pub(crate) fn wait_for_rounds(&self, those: &[usize]) -> Result<()> {
        for &id in those {
            let before = self.wait(id, |_| true)?;
            let (count, sequence) = (tokens(&before), sequence(&before)?);
            self.wait(id, |status| tokens(status) > count + 1)?;
            let after = self.wait(id, |_| true)?;
            ensure!(self::sequence(&after)? > sequence, "{before:#}, {after:#}");
        }
        Ok(())
    }

    /// The server of the database.
    pub(crate) fn server(&mut self) -> Result<&mut PostgreSql> {
        self.server.as_mut().context("it is a file")
    }

    /// Takes a node's network away, or gives it back.
    pub(crate) fn link(&self, id: usize, state: &str) -> Result<()> {
        let ns = self.segment.node(id - 1).ns().clone();
        ns.ip(&format!("link set eth0 {state}\n"))
    }
}

fn numbers(value: &Value) -> Vec<u64> {
    let values = value.as_array().into_iter().flatten();
    values.filter_map(Value::as_u64).collect()
}

/// The successor of a node in the order of the members.
fn next_of(status: &Value, id: usize) -> Result<Value> {
    let members = numbers(&status["members"]);
    let at = members.iter().position(|&it| it == id as u64);
    let at = at.context("it is a member")?;
    Ok(members[(at + 1) % members.len()].into())
}

/// Tokens that have come.
pub(crate) fn tokens(status: &Value) -> u64 {
    status["counters"]["received"]["TOKEN"]
        .as_u64()
        .unwrap_or(0)
}

/// The highest sequence that was there.
pub(crate) fn sequence(status: &Value) -> Result<u64> {
    let text = status["token"]["sequence"].as_str();
    Ok(text.context("a decimal string")?.parse()?)
}
