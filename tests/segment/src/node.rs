//! One machine on the segment.

use std::net::Ipv4Addr;

use anyhow::Result;
use pnet::util::MacAddr;

use crate::capture::Capture;
use crate::daemon::{Binaries, Ringd};
use crate::netns::NetNs;
use crate::peer::Peer;
use crate::segment::wait_for_state;

/// A node: a network namespace with an `eth0` on the segment.
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

    /// Its place in the segment, which is also the port that captured frames name.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its MAC when the segment was made.
    pub fn mac(&self) -> MacAddr {
        self.mac
    }

    /// Its address, if the layout gives addresses.
    pub fn ip(&self) -> Option<Ipv4Addr> {
        self.ip
    }

    /// Its namespace.
    pub fn ns(&self) -> &NetNs {
        &self.ns
    }

    /// Waits until its interface sends what it is given: for a moment after it was set up it loses all.
    pub fn wait_for_link(&self) -> Result<()> {
        wait_for_state(self.ns(), "eth0", |link| link["operstate"] == "UP")
    }

    /// A daemon to be started here.
    pub fn ringd(&self, binaries: Binaries) -> Ringd {
        Ringd::new(self.clone(), binaries)
    }

    /// A recording of the frames that arrive here, as they arrive. Their `port` is this node.
    pub fn arrivals(&self) -> Result<Capture> {
        Capture::of_arrivals(self.index, &self.ns, self.ethertype)
    }

    /// A speaker of the protocol that does only what the test says.
    pub fn peer(&self) -> Result<Peer> {
        self.ns
            .run(|| Peer::new(self.index, self.mac, self.ethertype))?
    }
}
