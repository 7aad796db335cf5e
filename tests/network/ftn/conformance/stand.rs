//! Two servers of this repository, and the program under test.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;

use super::super::stand::{PORT, ServerStand};
use super::super::wire::Datagram;
use super::wait_until;
use crate::record::Record;

pub(super) const SERVERS: usize = 3;
/// Node of the test's clients.
pub(super) const CLIENTS: usize = SERVERS;
/// Number of times that the stand kills a leader until the wanted server leads.
const ATTEMPTS: usize = 4;

/// A recorded datagram of a server. `to` is the receiving server, or `None` for a client.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub at: Duration,
    pub to: Option<usize>,
    pub datagram: Datagram,
}

/// Three servers. The server `program` is the program under test.
pub(super) struct JudgedStand {
    servers: ServerStand,
    record: Record,
    /// Time before the start of the servers.
    pub started: Duration,
    pub program: usize,
}

impl JudgedStand {
    /// Starts three servers with a majority as their quorum. `leader` must become the leader. If another server leads
    /// first, kills this server once.
    pub(super) fn start(program: usize, leader: usize, options: &[(&str, &str)]) -> Result<Self> {
        let mut servers = ServerStand::without_servers(SERVERS + 1, SERVERS)?;
        let record = Record::start(servers.segment())?;
        servers.judge(program);
        let started = ring_segment::now();
        let majority = [("--quorum", "majority")];
        for index in 0..SERVERS {
            servers.start(index, &[&majority, options].concat())?;
        }
        let mut stand = Self {
            servers,
            record,
            started,
            program,
        };
        for _ in 0..ATTEMPTS {
            let first = stand.wait_until_served()?;
            if first == leader {
                return Ok(stand);
            }
            stand.servers.server(first).kill()?;
            stand.servers.wait_until_served_by(&others(first))?;
            stand.servers.server(first).start()?;
        }
        bail!("rule E10 (elections.md): server {leader} does not lead")
    }

    pub(super) const fn servers(&self) -> &ServerStand {
        &self.servers
    }

    pub(super) fn kill(&mut self, index: usize) -> Result<()> {
        self.servers.server(index).kill()
    }

    /// Orders a server to leave, and waits for its end.
    pub(super) fn leave(&mut self, index: usize, timeout: Duration) -> Result<()> {
        let server = self.servers.server(index);
        server.signal(Signal::SIGTERM)?;
        server.wait_exit(timeout)?;
        Ok(())
    }

    pub(super) fn restart(&mut self, index: usize) -> Result<()> {
        self.servers.server(index).start()
    }

    /// Waits until all three servers are READY. Returns the leader.
    pub(super) fn wait_until_served(&self) -> Result<usize> {
        self.servers
            .wait_until_served_by(&[0, 1, 2])
            .context("rules F4 (leader.md), V8 (surveys.md)")
    }

    /// Returns the number of the configuration, from the status of a server of this repository.
    pub(super) fn configuration(&mut self) -> Result<i64> {
        let asked = others(self.program)[0];
        let status = self.servers.server(asked).status()?;
        status["configuration"].as_i64().context("no configuration")
    }

    /// Returns all recorded datagrams of a server, in their order.
    pub(super) fn sent_by(&self, server: usize) -> Result<Vec<Recorded>> {
        let addresses = self.servers.addresses()?;
        let index = |ip| addresses.iter().position(|address| address.ip() == ip);
        let all = self.record.datagrams_both_ways(PORT).into_iter();
        let own = all.filter(|sent| sent.node == server && sent.from_port == PORT);
        own.map(|sent| {
            Ok(Recorded {
                at: sent.at,
                to: index(sent.to).filter(|_| sent.to_port == PORT),
                datagram: Datagram::read(&sent.bytes).context("messages.md")?,
            })
        })
        .collect()
    }

    /// Waits until a server has sent a datagram that `find` accepts. The error names the rule.
    pub(super) fn wait_for<T>(
        &self,
        server: usize,
        rule: &str,
        find: impl Fn(&Recorded) -> Option<T>,
    ) -> Result<T> {
        let mut found = Ok(None);
        wait_until(rule, || {
            found = self.sent_by(server).map(|all| all.iter().find_map(&find));
            !matches!(found, Ok(None))
        })?;
        found?.context("the datagram was sent")
    }
}

/// Returns the other two servers.
pub(super) fn others(server: usize) -> Vec<usize> {
    (0..SERVERS).filter(|other| *other != server).collect()
}
