//! A station that sends only frames from a test.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use pnet::util::MacAddr;

use crate::clock;
use crate::packet_socket::RawSocket;
use crate::wire::{self, ETHERTYPE, Message, Seen};

const INTERFACE: &str = "eth0";

/// A station of the test. It sends no answers by itself.
#[derive(Debug)]
pub struct Peer {
    index: usize,
    mac: MacAddr,
    ethertype: u16,
    socket: RawSocket,
}

impl Peer {
    /// Makes a peer in the calling thread's network namespace.
    pub(crate) fn new(index: usize, mac: MacAddr, ethertype: u16) -> Result<Self> {
        Self::open(INTERFACE, index, mac, ethertype)
    }

    /// Makes a peer on an interface of the calling thread's network namespace, for a program that is no test.
    pub fn on(interface: &str, mac: MacAddr) -> Result<Self> {
        Self::open(interface, 0, mac, ETHERTYPE)
    }

    fn open(interface: &str, index: usize, mac: MacAddr, ethertype: u16) -> Result<Self> {
        Ok(Self {
            index,
            mac,
            ethertype,
            socket: RawSocket::on(interface, ethertype)?,
        })
    }

    pub fn mac(&self) -> MacAddr {
        self.mac
    }

    /// Sends a message with the peer's own address. Returns the time just before the message was sent.
    pub fn send(&self, dst: MacAddr, message: &Message) -> Result<Duration> {
        self.send_as(self.mac, dst, message)
    }

    /// Broadcasts a message. Returns the time just before it sent the message.
    pub fn broadcast(&self, message: &Message) -> Result<Duration> {
        self.send(MacAddr::broadcast(), message)
    }

    /// Sends a message with the source and author of a different station.
    pub fn send_as(&self, src: MacAddr, dst: MacAddr, message: &Message) -> Result<Duration> {
        self.send_frame(&wire::frame(
            dst,
            src,
            self.ethertype,
            &message.payload(src),
        ))
    }

    pub fn send_frame(&self, frame: &[u8]) -> Result<Duration> {
        let at = clock::now();
        self.socket.send(frame)?;
        Ok(at)
    }

    /// Returns the next frame to this node or to all nodes, or `None` at the timeout. The `port` of the frame is the
    /// place of this node.
    pub fn receive(&self, timeout: Duration) -> Result<Option<Seen>> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(received) = self.socket.receive(left)? else {
                return Ok(None);
            };
            let Some(seen) = Seen::read(received.at, self.index, received.bytes) else {
                continue;
            };
            if seen.dst == self.mac || seen.is_broadcast() {
                return Ok(Some(seen));
            }
        }
    }

    /// Waits for a frame that `wanted` accepts, and drops other frames.
    pub fn expect(&self, timeout: Duration, wanted: impl Fn(&Seen) -> bool) -> Result<Seen> {
        let deadline = Instant::now() + timeout;
        let mut others = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.receive(left)? {
                Some(seen) if wanted(&seen) => return Ok(seen),
                Some(seen) => others.push(format!("  {seen:?}")),
                None => bail!(
                    "the expected frame did not arrive in {timeout:?}; the peer received:\n{}",
                    others.join("\n")
                ),
            }
        }
    }

    pub fn collect(&self, window: Duration) -> Result<Vec<Seen>> {
        let deadline = Instant::now() + window;
        let mut all = Vec::new();
        while let Some(seen) = self.receive(deadline.saturating_duration_since(Instant::now()))? {
            all.push(seen);
        }
        Ok(all)
    }

    pub fn forget(&self) -> Result<()> {
        while self.receive(Duration::ZERO)?.is_some() {}
        Ok(())
    }
}
