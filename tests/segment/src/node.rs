//! One machine on the segment.

use std::net::Ipv4Addr;

use anyhow::Result;
use pnet::util::MacAddr;

use crate::capture::Capture;
use crate::daemon::{Binaries, Ringd};
use crate::netns::NetNs;
use crate::peer::Peer;
use crate::segment::wait_for_state;

/// A network namespace with an `eth0` on the segment.
#[derive(Debug, Clone)]
pub struct Node {
    index: usize,
    mac: MacAddr,
    ethertype: u16,
    ip: Option<Ipv4Addr>,
    ns: NetNs,
}

impl Node {
    pub(crate) fn new(
        index: usize,
        mac: MacAddr,
        ethertype: u16,
        ip: Option<Ipv4Addr>,
    ) -> Result<Self> {
        Ok(Self {
            index,
            mac,
            ethertype,
            ip,
            ns: NetNs::new()?,
        })
    }

    /// Returns the node's place in the segment, which is also the `port` of its captured frames.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the MAC address that the node had when the segment was made.
    pub fn mac(&self) -> MacAddr {
        self.mac
    }

    /// Returns the node's IP address, if the layout assigns addresses.
    pub fn ip(&self) -> Option<Ipv4Addr> {
        self.ip
    }

    pub fn ns(&self) -> &NetNs {
        &self.ns
    }

    /// Waits until the node's interface can send. At first a new interface loses all frames.
    pub fn wait_for_link(&self) -> Result<()> {
        wait_for_state(self.ns(), "eth0", |link| link["operstate"] == "UP")
    }

    /// Returns a builder of a daemon on this node.
    pub fn ringd(&self, binaries: Binaries) -> Ringd {
        Ringd::new(self.clone(), binaries)
    }

    /// Starts a recording of the frames that arrive at this node. The `port` of these frames is the place of this node.
    pub fn arrivals(&self) -> Result<Capture> {
        Capture::of_arrivals(self.index, &self.ns, self.ethertype)
    }

    /// Makes a peer. The peer sends only the test's frames.
    pub fn peer(&self) -> Result<Peer> {
        self.ns
            .run(|| Peer::new(self.index, self.mac, self.ethertype))?
    }
}
