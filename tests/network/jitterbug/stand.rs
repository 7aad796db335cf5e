//! A Jitterbug ring on a segment, and a record of the messages of its nodes.

use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Daemon, Layout, Node, Ringd, Segment, WAIT_LIMIT, binaries};
use serde_json::Value;

use super::judge::{Seen, judge, number};
use crate::record::Record;

pub(super) const UDP_PORT: u16 = 57_700;
/// Default times of a stand. With these times, a restore takes 180 ms, and a leader that stalls for 150 ms loses its
/// leadership.
const DEFAULT_TIMES: [(&str, &str); 3] = [
    ("--tr-interval", "30ms"),
    ("--renew-timeout", "1s"),
    ("--hold", "20ms"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The kernel's bridge, with IPv4.
    Bridge,
    /// The kernel's bridge, only with link-local IPv6.
    Ipv6,
    /// The tests' switch, with IPv4. The number is the seed of the switch.
    Switch(u64),
}

/// Nodes of Jitterbug on the nodes of a segment.
pub(super) struct NodeStand {
    segment: Segment,
    kind: Kind,
    record: Record,
    nodes: Vec<Daemon>,
    /// A node that may be a foreign program. The stand does not use its control socket.
    judged: Option<usize>,
}

impl NodeStand {
    /// Starts nodes like [`NodeStand::new`]. The last node is the judged program.
    pub(super) fn with_judged(kind: Kind, nodes: usize, options: &[(&str, &str)]) -> Result<Self> {
        let mut stand = Self::without_nodes(kind, nodes)?;
        stand.judge_node(nodes - 1);
        for index in 0..nodes {
            stand.add(index, options)?;
        }
        Ok(stand)
    }

    /// Starts nodes. `options` override the stand's default times.
    pub(super) fn new(kind: Kind, nodes: usize, options: &[(&str, &str)]) -> Result<Self> {
        let mut stand = Self::without_nodes(kind, nodes)?;
        for index in 0..nodes {
            stand.add(index, options)?;
        }
        Ok(stand)
    }

    /// Makes a segment without daemons.
    pub(super) fn without_nodes(kind: Kind, nodes: usize) -> Result<Self> {
        let layout = Layout::new(nodes);
        let segment = match kind {
            Kind::Bridge => layout.addresses().bridge()?,
            Kind::Switch(seed) => layout.addresses().switch(seed)?,
            Kind::Ipv6 => {
                let segment = layout.bridge()?;
                segment.nodes().iter().try_for_each(give_ipv6)?;
                segment
            }
        };
        Ok(Self {
            record: Record::start(&segment)?,
            segment,
            kind,
            nodes: Vec::new(),
            judged: None,
        })
    }

    /// Makes a node the judged program. The node must be started later.
    pub(super) const fn judge_node(&mut self, index: usize) {
        self.judged = Some(index);
    }

    /// Returns the daemon of a node with the stand's default times.
    pub(super) fn options(&self, index: usize) -> Result<Ringd> {
        self.daemon(index, &DEFAULT_TIMES)
    }

    /// Returns the daemon of a node with these options.
    fn daemon(&self, index: usize, options: &[(&str, &str)]) -> Result<Ringd> {
        let node = self.segment.node(index);
        node.wait_for_link()?;
        let mut ringd = node
            .ringd(binaries())
            .subcommand("jitterbug")
            .without_state()
            .flag("eth0");
        for (name, value) in options {
            ringd = ringd.option(name, value);
        }
        Ok(ringd)
    }

    /// Starts a daemon on node `index`. Daemons must be started in the order of their nodes.
    pub(super) fn add(&mut self, index: usize, options: &[(&str, &str)]) -> Result<()> {
        // The judged program gets each option once.
        let is_default =
            |(name, _): &&(&str, &str)| !options.iter().any(|(other, _)| other == name);
        let defaults = DEFAULT_TIMES.iter().filter(is_default);
        let all: Vec<_> = defaults.chain(options).copied().collect();
        let mut node = self.daemon(index, &all)?;
        if self.judged == Some(index) {
            node = node.conform();
        }
        self.nodes.push(node.spawn()?);
        Ok(())
    }

    /// Starts a daemon on node `index`, like [`add`](Self::add). The daemon does not take a hang-up as a sign that its
    /// terminal was closed.
    pub(super) fn add_detached(&mut self, index: usize, options: &[(&str, &str)]) -> Result<()> {
        let node = self.daemon(index, options)?.through(["setsid"]);
        self.nodes.push(node.spawn()?);
        Ok(())
    }

    pub(super) const fn segment(&self) -> &Segment {
        &self.segment
    }

    pub(super) const fn record(&self) -> &Record {
        &self.record
    }

    pub(super) fn node(&mut self, index: usize) -> &mut Daemon {
        &mut self.nodes[index]
    }

    pub(super) fn ringctl(&self, index: usize, arguments: &[&str]) -> Result<Output> {
        self.nodes[index].ringctl(arguments)
    }

    pub(super) fn control(&self, index: usize) -> PathBuf {
        self.nodes[index].control()
    }

    pub(super) fn signal(&self, index: usize, signal: Signal) -> Result<()> {
        self.nodes[index].signal(signal)
    }

    pub(super) fn address(&self, index: usize) -> IpAddr {
        match self.kind {
            Kind::Ipv6 => link_local(index),
            Kind::Bridge | Kind::Switch(_) => self
                .segment
                .node(index)
                .ip()
                .expect("the node has an address")
                .into(),
        }
    }

    /// Returns the address at which a node accepts the token.
    pub(super) fn listener(&self, index: usize) -> Result<SocketAddr> {
        let status = self.status_when(index, |status| status["tcp_port"].is_u64())?;
        let port = status["tcp_port"].as_u64().context("no port")?;
        Ok(SocketAddr::new(self.address(index), u16::try_from(port)?))
    }

    /// Waits until the lists of these nodes contain all these nodes in the same order, and no node is an orphan.
    pub(super) fn wait_for_ring(&self, those: &[usize]) -> Result<()> {
        let wanted: Vec<String> = those
            .iter()
            .map(|&it| self.address(it).to_string())
            .collect();
        let in_ring = |status: &Value| {
            let has = |address: &String| addresses(status).contains(address);
            status["state"] != "orphan" && wanted.iter().all(has)
        };
        let has_status = |node: &usize| self.judged != Some(*node);
        let asked: Vec<usize> = those.iter().copied().filter(has_status).collect();
        let (&first, others) = asked.split_first().context("there are no servers")?;
        loop {
            let status = self.nodes[first].wait_for_status(WAIT_LIMIT, in_ring)?;
            let mut agree = true;
            for &other in others {
                let seen = self.nodes[other].wait_for_status(WAIT_LIMIT, in_ring)?;
                agree &= seen["node_list_hash"] == status["node_list_hash"];
            }
            if agree {
                return Ok(());
            }
        }
    }

    /// Waits until each of these nodes has led one more time and increased the count.
    pub(super) fn wait_for_rounds(&self, those: &[usize]) -> Result<()> {
        for &index in those {
            let before = self.count(index)?;
            self.wait_for_count(index, before + 2)?;
        }
        Ok(())
    }

    /// Returns the count in a node's data. The data of the ring must be a count.
    pub(super) fn count(&self, index: usize) -> Result<u64> {
        let status = self.nodes[index].wait_for_status(WAIT_LIMIT, |_| true)?;
        count(&status)
    }

    /// Waits until `is_so` accepts a node's status.
    pub(super) fn status_when(
        &self,
        index: usize,
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        self.nodes[index].wait_for_status(WAIT_LIMIT, is_so)
    }

    /// Waits until a node's count is at least `least`.
    pub(super) fn wait_for_count(&self, index: usize, least: u64) -> Result<Value> {
        let is_there = |status: &Value| count(status).is_ok_and(|count| count >= least);
        self.nodes[index].wait_for_status(WAIT_LIMIT, is_there)
    }

    /// Waits until one of these nodes leads, and returns this node.
    pub(super) fn leader_of(&self, those: &[usize]) -> Result<usize> {
        let deadline = std::time::Instant::now() + WAIT_LIMIT;
        loop {
            for &index in those {
                let status = self.nodes[index].wait_for_status(WAIT_LIMIT, |_| true)?;
                if status["state"] == "leader" {
                    return Ok(index);
                }
            }
            ensure!(std::time::Instant::now() < deadline, "no node leads");
        }
    }

    /// Checks the messages of the ring. The ring's data must be a count.
    pub(super) fn judge(&self) -> Result<Seen> {
        let seen = judge(&self.record)?;
        seen.check_data(number)?;
        Ok(seen)
    }
}

pub(super) fn addresses(status: &Value) -> Vec<String> {
    let nodes = status["nodes"].as_array().into_iter().flatten();
    let addresses = nodes.filter_map(|node| node["address"].as_str());
    addresses.map(str::to_owned).collect()
}

/// Returns the data of a status as a number.
pub(super) fn count(status: &Value) -> Result<u64> {
    let data = status["data"].as_str().context("no data")?;
    number(data.as_bytes())
}

pub(super) fn counter(status: &Value, name: &str) -> u64 {
    status["counters"][name].as_u64().unwrap_or(0)
}

fn link_local(index: usize) -> IpAddr {
    let last = u16::try_from(index + 1).expect("there are few");
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, last).into()
}

/// Gives a node only one link-local address. The node can use this address at once.
fn give_ipv6(node: &Node) -> Result<()> {
    node.ns().enable_ipv6()?;
    node.ns()
        .run(|| fs::write("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "0"))??;
    let address = link_local(node.index());
    node.ns().ip(&format!(
        "link set eth0 down\nlink set eth0 addrgenmode none\nlink set eth0 up\naddr add {address}/64 dev eth0 nodad\n"
    ))?;
    node.wait_for_link()
}
