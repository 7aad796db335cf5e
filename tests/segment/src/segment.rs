//! A broadcast segment of nodes in network namespaces.

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use pnet::util::MacAddr;
use serde_json::Value;

use crate::capture::Capture;
use crate::failure_report;
use crate::netns::NetNs;
use crate::node::Node;
use crate::switch::Switch;
use crate::wire::{ETHERTYPE, Seen};

/// Longest time that a new link needs before it carries frames.
const LINK_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between two queries of a link's state. Each query starts a process.
const LINK_POLL_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Debug)]
enum Fabric {
    Bridge,
    Switch(Switch),
}

/// Builder of a segment. Begin with [`Layout::new`], and end with [`Layout::bridge`] or [`Layout::switch`].
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Layout {
    macs: Vec<MacAddr>,
    addresses: bool,
    ethertype: u16,
    is_captured: bool,
}

impl Layout {
    /// Makes nodes with the MACs `02:00:00:00:00:01` and up, and without IP addresses.
    pub fn new(nodes: usize) -> Self {
        let macs = (1..=nodes as u64).map(fixed_mac).collect();
        Self {
            macs,
            addresses: false,
            ethertype: ETHERTYPE,
            is_captured: true,
        }
    }

    /// Uses random, locally administered MACs from a seed, so the ring's order differs from the nodes' order.
    pub fn random_macs(mut self, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        for mac in &mut self.macs {
            let mut octets: [u8; 6] = std::array::from_fn(|_| random.u8(..));
            octets[0] = octets[0] & 0xfc | 0x02;
            *mac = octets.into();
        }
        self
    }

    /// Gives node `n` the address `10.77.0.(n + 1)/24`.
    pub fn addresses(mut self) -> Self {
        self.addresses = true;
        self
    }

    /// Sets the EtherType of captured frames and of the frames of peers.
    pub fn ethertype(mut self, ethertype: u16) -> Self {
        self.ethertype = ethertype;
        self
    }

    /// Records no frames. Measurements use such a segment, because a recording costs time.
    pub fn without_capture(mut self) -> Self {
        self.is_captured = false;
        self
    }

    /// Connects the nodes with the kernel's bridge, without spanning tree and multicast snooping.
    pub fn bridge(self) -> Result<Segment> {
        let hub = NetNs::new()?;
        hub.ip(
            "link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0\n\
             link set br0 up\n",
        )
        .context("cannot make a bridge: CONFIG_BRIDGE is needed")?;
        let segment = self.plug_nodes(hub, Fabric::Bridge)?;
        segment.wait_for_links()?;
        Ok(segment)
    }

    /// Connects the nodes with a switch that can lose, duplicate, delay and block frames. `seed` determines its random
    /// choices.
    pub fn switch(self, seed: u64) -> Result<Segment> {
        let hub = NetNs::new()?;
        let switch = Switch::new(self.macs.len(), seed);
        let mut segment = self.plug_nodes(hub, Fabric::Switch(switch))?;
        segment.wait_for_links()?;
        let hub = segment.hub.clone();
        if let Fabric::Switch(switch) = &mut segment.fabric {
            hub.run(|| switch.start())??;
        }
        Ok(segment)
    }

    fn plug_nodes(self, hub: NetNs, fabric: Fabric) -> Result<Segment> {
        let capture = (self.is_captured)
            .then(|| Capture::start(&hub, self.ethertype))
            .transpose()?;
        if let Some(capture) = &capture {
            failure_report::show_capture(capture.recording());
        }
        let mut segment = Segment {
            hub,
            nodes: Vec::new(),
            fabric,
            capture,
        };
        for (index, mac) in self.macs.into_iter().enumerate() {
            let ip = self
                .addresses
                .then(|| Ipv4Addr::new(10, 77, 0, last_octet(index)));
            segment
                .nodes
                .push(Node::new(index, mac, self.ethertype, ip)?);
            segment.plug(index)?;
        }
        Ok(segment)
    }
}

#[derive(Debug)]
pub struct Segment {
    hub: NetNs,
    nodes: Vec<Node>,
    fabric: Fabric,
    capture: Option<Capture>,
}

impl Segment {
    /// Makes nodes on a bridge, like [`Layout::new`].
    pub fn bridge(nodes: usize) -> Result<Self> {
        Layout::new(nodes).bridge()
    }

    /// Makes nodes on the tests' switch, like [`Layout::new`].
    pub fn switch(nodes: usize, seed: u64) -> Result<Self> {
        Layout::new(nodes).switch(seed)
    }

    /// Makes two nodes with a cable between them, for measurements. There is no bridge and no capture.
    pub fn pair() -> Result<[Node; 2]> {
        let nodes = [
            Node::new(0, fixed_mac(1), ETHERTYPE, None)?,
            Node::new(1, fixed_mac(2), ETHERTYPE, None)?,
        ];
        let [left, right] = &nodes;
        left.ns().ip(&format!(
            "link add eth0 address {} type veth peer name eth0 address {} netns {}\n",
            left.mac(),
            right.mac(),
            right.ns().path()?
        ))?;
        for node in &nodes {
            node.ns().ip("link set eth0 up\n")?;
        }
        for node in &nodes {
            node.wait_for_link()?;
        }
        Ok(nodes)
    }

    /// Restarts the recording before the next test begins. Returns the earlier frames.
    pub(crate) fn restart_recording(&self) -> Vec<Seen> {
        failure_report::show_capture(self.capture().recording());
        self.capture().drain()
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns a node.
    ///
    /// # Panics
    /// Panics if the segment has no node `index`.
    pub fn node(&self, index: usize) -> &Node {
        &self.nodes[index]
    }

    /// Returns the recording of all frames.
    ///
    /// # Panics
    /// Panics if the segment has no recording ([`Layout::without_capture`]).
    pub fn capture(&self) -> &Capture {
        (self.capture.as_ref()).expect("the segment records its frames")
    }

    pub fn hub(&self) -> &NetNs {
        &self.hub
    }

    /// Returns the switch.
    ///
    /// # Panics
    /// Panics if the segment is a bridge.
    pub fn rules(&self) -> &Switch {
        match &self.fabric {
            Fabric::Switch(switch) => switch,
            Fabric::Bridge => panic!("a bridge has no rules: use Segment::switch"),
        }
    }

    /// Cuts a node off so that the node does not notice: the link of the node stays up, but no frame passes.
    pub fn cut(&self, index: usize) -> Result<()> {
        match &self.fabric {
            Fabric::Bridge => self.hub.ip(&format!("link set p{index} nomaster\n")),
            Fabric::Switch(switch) => {
                switch.set(|rules| rules.up[index] = false);
                Ok(())
            }
        }
    }

    pub fn heal(&self, index: usize) -> Result<()> {
        match &self.fabric {
            Fabric::Bridge => {
                self.hub.ip(&format!("link set p{index} master br0\n"))?;
                self.wait_for_link(index)
            }
            Fabric::Switch(switch) => {
                switch.set(|rules| rules.up[index] = true);
                Ok(())
            }
        }
    }

    /// Takes the carrier away from a node's link, as if the cable were unplugged.
    pub fn lose_carrier(&self, index: usize) -> Result<()> {
        self.hub.ip(&format!("link set p{index} down\n"))
    }

    pub fn regain_carrier(&self, index: usize) -> Result<()> {
        self.hub.ip(&format!("link set p{index} up\n"))
    }

    pub fn unplug(&self, index: usize) -> Result<()> {
        self.hub.ip(&format!("link del p{index}\n"))
    }

    /// Gives a node its interface, for the first time or after [`Segment::unplug`] (on a bridge).
    pub fn plug(&mut self, index: usize) -> Result<()> {
        let node = &self.nodes[index];
        self.hub.ip(&format!(
            "link add p{index} type veth peer name eth0 address {} netns {}\n",
            node.mac(),
            node.ns().path()?
        ))?;
        let port = query(&self.hub, &format!("p{index}"))?;
        let number = port["ifindex"].as_u64().context("`ip` shows no ifindex")?;
        if let Some(capture) = &self.capture {
            capture.assign_interface(usize::try_from(number)?, index);
        }
        if let Fabric::Bridge = self.fabric {
            self.hub.ip(&format!("link set p{index} master br0\n"))?;
        }
        self.hub.ip(&format!("link set p{index} up\n"))?;
        if let Some(ip) = node.ip() {
            node.ns().ip(&format!("addr add {ip}/24 dev eth0\n"))?;
        }
        node.ns().ip("link set eth0 up\n")
    }

    pub fn wait_for_link(&self, index: usize) -> Result<()> {
        self.nodes[index].wait_for_link()?;
        let is_bridge = matches!(self.fabric, Fabric::Bridge);
        wait_for_state(&self.hub, &format!("p{index}"), |port| {
            let forwards = port["linkinfo"]["info_slave_data"]["state"] == "forwarding";
            port["operstate"] == "UP" && (forwards || !is_bridge)
        })
    }

    fn wait_for_links(&self) -> Result<()> {
        (0..self.nodes.len()).try_for_each(|index| self.wait_for_link(index))
    }
}

fn fixed_mac(number: u64) -> MacAddr {
    let [.., d, e, f] = number.to_be_bytes();
    MacAddr::new(2, 0, 0, d, e, f)
}

/// Returns the last octet of the node's address. Up to 254 nodes have different octets.
fn last_octet(index: usize) -> u8 {
    u8::try_from(index % 254 + 1).unwrap_or(u8::MAX)
}

pub(crate) fn wait_for_state(
    ns: &NetNs,
    interface: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Result<()> {
    let deadline = Instant::now() + LINK_TIMEOUT;
    loop {
        let link = query(ns, interface)?;
        if wanted(&link) {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "{interface} carries no frames yet: {link}"
        );
        thread::sleep(LINK_POLL_INTERVAL);
    }
}

fn query(ns: &NetNs, interface: &str) -> Result<Value> {
    let text = ns.ask_ip(&["-json", "-details", "link", "show", "dev", interface])?;
    let mut links: Value = serde_json::from_str(&text).context("the output of `ip` is not JSON")?;
    links
        .get_mut(0)
        .map(Value::take)
        .ok_or_else(|| anyhow!("`ip` knows no {interface}"))
}
