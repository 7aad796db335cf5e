//! Servers of the token service on the nodes of a segment, with their list in a file.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use ring_segment::{Daemon, Layout, Ringd, Segment, WAIT_LIMIT, binaries};
use serde_json::Value;
use tempfile::TempDir;

pub(super) const PORT: u16 = 7301;
/// HB of the servers of a stand, if a test sets no other value.
pub(super) const HEARTBEAT: Duration = Duration::from_millis(100);
/// ST. The servers stall for less than three quarters of ST.
pub(super) const SERVER_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Servers on the first nodes of a segment.
pub(super) struct ServerStand {
    segment: Segment,
    folder: TempDir,
    servers: Vec<Daemon>,
    /// A server that may be a foreign program. The stand does not use its control socket.
    judged: Option<usize>,
}

impl ServerStand {
    /// Starts servers like [`ServerStand::new`]. The last server is the judged program.
    pub(super) fn with_judged(
        nodes: usize,
        servers: usize,
        options: &[(&str, &str)],
    ) -> Result<Self> {
        let mut stand = Self::without_servers(nodes, servers)?;
        stand.judge(servers - 1);
        for index in 0..servers {
            stand.start(index, options)?;
        }
        Ok(stand)
    }

    /// Makes a server the judged program. The test calls this function before it starts the server.
    pub(super) const fn judge(&mut self, index: usize) {
        self.judged = Some(index);
    }

    /// Starts `servers` servers on a segment of `nodes` nodes. `options` override the stand's default times.
    pub(super) fn new(nodes: usize, servers: usize, options: &[(&str, &str)]) -> Result<Self> {
        let mut stand = Self::without_servers(nodes, servers)?;
        for index in 0..servers {
            stand.start(index, options)?;
        }
        Ok(stand)
    }

    pub(super) fn start(&mut self, index: usize, options: &[(&str, &str)]) -> Result<()> {
        let mut server = self.server_options(index)?;
        for (name, value) in options {
            server = server.option(name, value);
        }
        if self.judged == Some(index) {
            server = server.conform();
        }
        self.servers.push(server.spawn()?);
        Ok(())
    }

    /// Starts a server with a configuration file. The server has no terminal, because a daemon with a terminal takes a
    /// hang-up as a sign that the terminal was closed.
    pub(super) fn start_with_config(&mut self, index: usize, config: &Path) -> Result<()> {
        let server = self.server_options(index)?.option("--config", config);
        self.servers.push(server.through(["setsid"]).spawn()?);
        Ok(())
    }

    /// Makes a segment, and a list of servers for the segment's first nodes.
    pub(super) fn without_servers(nodes: usize, servers: usize) -> Result<Self> {
        let segment = Layout::new(nodes).addresses().bridge()?;
        // A client on a server's machine needs the loopback interface. Records and conformance tests read each datagram
        // from the network, so the kernel must separate merged datagrams before it sends them.
        for node in segment.nodes() {
            node.ns()
                .ip("link set lo up\nlink set eth0 gso_max_segs 1\n")?;
        }
        let folder = tempfile::tempdir_in("/run")?;
        let lines: Result<String> = segment.nodes()[..servers].iter().map(line).collect();
        fs::write(folder.path().join("servers"), lines?)?;
        Ok(Self {
            segment,
            folder,
            servers: Vec::new(),
            judged: None,
        })
    }

    /// Returns the options of a server on this node, with the default times of the stand.
    pub(super) fn server_options(&self, index: usize) -> Result<Ringd> {
        let node = self.segment.node(index);
        node.wait_for_link()?;
        let (heartbeat, timeout) = (HEARTBEAT.as_millis(), SERVER_TIMEOUT.as_millis());
        Ok(node
            .ringd(binaries())
            .subcommand("ftn")
            .option("--servers", self.list())
            .option("--index", index.to_string())
            .option("--heartbeat", format!("{heartbeat}ms"))
            .option("--server-timeout", format!("{timeout}ms"))
            .option("--client-timeout", "10s")
            // The servers need no grace period, because there are no clients of an earlier run.
            .option("--grace", "0s"))
    }

    pub(super) fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Returns a folder for the test's files, which is deleted with the stand.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn list(&self) -> PathBuf {
        self.folder.path().join("servers")
    }

    /// Returns the lines of the list of servers.
    pub(super) fn lines(&self) -> Result<Vec<String>> {
        let lines = fs::read_to_string(self.list())?;
        Ok(lines.lines().map(str::to_owned).collect())
    }

    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>> {
        let lines = self.lines()?;
        lines.iter().map(|line| Ok(line.parse()?)).collect()
    }

    pub(super) fn server(&mut self, index: usize) -> &mut Daemon {
        &mut self.servers[index]
    }

    /// Waits until all these servers are READY, and agree on a leader, its configuration and the states of all servers.
    /// Returns the leader.
    pub(super) fn wait_until_served_by(&self, those: &[usize]) -> Result<usize> {
        let has_status = |server: &usize| self.judged != Some(*server);
        let asked: Vec<usize> = those.iter().copied().filter(has_status).collect();
        let first = *asked.first().context("there are no servers")?;
        let is_served = |status: &Value| {
            let is_up = |index: &usize| status["servers"][*index]["state"] == "READY";
            let leads = |index: &usize| status["leader"] == *index;
            status["health"] != "critical" && those.iter().all(is_up) && those.iter().any(leads)
        };
        loop {
            let status = self.servers[first].wait_for_status(WAIT_LIMIT, is_served)?;
            let agrees = |other: &Value| {
                let keys = ["leader", "configuration"];
                let states = |status: &Value| {
                    let states = (0..).map_while(|index| status["servers"].get(index).cloned());
                    states
                        .map(|server| server["state"].clone())
                        .collect::<Vec<_>>()
                };
                keys.iter().all(|key| other[*key] == status[*key])
                    && states(other) == states(&status)
            };
            let mut all_agree = true;
            for &other in &asked[1..] {
                let seen = self.servers[other].wait_for_status(WAIT_LIMIT, is_served)?;
                all_agree &= agrees(&seen);
            }
            if all_agree {
                let leader = status["leader"].as_u64().context("no leader")?;
                return Ok(usize::try_from(leader)?);
            }
        }
    }
}

/// Returns a node's line in the list of servers.
fn line(node: &ring_segment::Node) -> Result<String> {
    let ip = node.ip().context("the node has an address")?;
    Ok(format!("{ip}:{PORT}\n"))
}
