//! Sockets, frames and waits for the tests.

use std::env;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use pnet::datalink::{self, Channel, DataLinkSender};
use ring_process::RingLock;
use ring_runtime::clock;
use ring_runtime::driver::{Link, ReceiveBatch, TransmitBatch, frames};
use ring_runtime::net::{Interface, PacketSocket};
use ring_runtime::wait::{Interest, Poller};
use ring_segment::Node;
pub(super) use ring_segment::WAIT_LIMIT;

/// First experimental EtherType of IEEE 802.
pub(super) const ETHERTYPE: u16 = 0x88b5;
/// Second experimental EtherType, for other traffic.
pub(super) const OTHER_ETHERTYPE: u16 = 0x88b6;
pub(super) const BROADCAST: [u8; 6] = [0xff; 6];

pub(super) const LOCKS_DIR: &str = "/run/ringd";

/// Environment variable with the name of the interface that a child process locks.
const LOCK_VARIABLE: &str = "RINGD_TEST_LOCK";

/// Returns the environment variable for a child. The child locks `interface`, prints `held`, and keeps the lock until
/// its standard input ends.
pub(super) fn lock(interface: &str) -> (&'static str, &str) {
    (LOCK_VARIABLE, interface)
}

/// Returns `None` if the environment variable of a test's child process is not set. If the variable is set, acts as
/// this child process, and returns its exit code.
pub(crate) fn run_as_child() -> Option<ExitCode> {
    let interface = env::var(LOCK_VARIABLE).ok()?;
    Some(match hold(&interface) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    })
}

fn hold(interface: &str) -> Result<()> {
    let _lock = RingLock::acquire(Path::new(LOCKS_DIR), interface, Duration::ZERO)?;
    println!("held");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

pub(super) fn find(node: &Node, name: &str) -> Result<Interface> {
    node.ns()
        .run(|| Interface::find(name))??
        .with_context(|| format!("node {} has no {name}", node.index()))
}

/// Waits until an interface has a carrier. Frames that are sent before the interface has a carrier are lost.
pub(super) fn wait_for_carrier(node: &Node, name: &str) -> Result<()> {
    let give_up = Instant::now() + WAIT_LIMIT;
    while !find(node, name)?.carrier {
        ensure!(Instant::now() < give_up, "{name} has no carrier");
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A packet socket on an interface of a node, and the poller that waits for the socket.
pub(super) struct Station {
    pub node: Node,
    pub socket: PacketSocket,
    pub poller: Poller,
    pub batch: ReceiveBatch,
}

impl Station {
    pub(super) fn on(node: &Node, name: &str, ethertype: u16) -> Result<Self> {
        let interface = find(node, name)?;
        let socket = node
            .ns()
            .run(|| PacketSocket::open(&interface, ethertype))??;
        let poller = Poller::new()?;
        poller.add(&socket, 0, Interest::Read)?;
        Ok(Self {
            node: node.clone(),
            socket,
            poller,
            batch: frames::receive_batch(),
        })
    }

    /// Opens a socket for the protocol's EtherType on `eth0`.
    pub(super) fn new(node: &Node) -> Result<Self> {
        Self::on(node, "eth0", ETHERTYPE)
    }

    pub(super) fn poll_wakeup(&mut self) -> Result<bool> {
        self.poller.wait(Some(Duration::ZERO))?;
        Ok(self.poller.ready().len() > 0)
    }

    pub(super) fn wait(&mut self) -> Result<()> {
        let give_up = Instant::now() + WAIT_LIMIT;
        loop {
            let left = give_up.saturating_duration_since(Instant::now());
            ensure!(!left.is_zero(), "the process was not woken");
            self.poller.wait(Some(left))?;
            if self.poller.ready().len() > 0 {
                return Ok(());
            }
        }
    }

    pub(super) fn receive(&mut self) -> Result<Vec<Vec<u8>>> {
        self.socket.receive(clock::now(), &mut self.batch)?;
        Ok(self
            .batch
            .iter()
            .map(|(frame, ..)| frame.to_vec())
            .collect())
    }

    /// Waits for frames. Returns the frames of one receive call.
    pub(super) fn next(&mut self) -> Result<Vec<Vec<u8>>> {
        self.wait()?;
        let frames = self.receive()?;
        ensure!(!frames.is_empty(), "woken with nothing to receive");
        Ok(frames)
    }

    /// Sends frames in one batch. Returns an error if the socket refuses a frame.
    pub(super) fn send(&mut self, frames: &[Vec<u8>]) -> Result<()> {
        let sent = self.socket.send(&transmit(frames)?)?;
        ensure!(
            sent == frames.len(),
            "{sent} of {} frames sent",
            frames.len()
        );
        Ok(())
    }
}

pub(super) fn transmit(sent: &[Vec<u8>]) -> Result<TransmitBatch> {
    let mut batch = frames::transmit_batch();
    for frame in sent {
        let buffer = batch.next_buffer().context("too many frames for a batch")?;
        buffer[..frame.len()].copy_from_slice(frame);
        batch.push(frame.len(), ());
    }
    Ok(batch)
}

/// Returns a frame of the protocol's EtherType.
pub(super) fn frame(to: [u8; 6], from: &Node, payload: &[u8]) -> Vec<u8> {
    frame_of(ETHERTYPE, to, from, payload)
}

pub(super) fn frame_of(ethertype: u16, to: [u8; 6], from: &Node, payload: &[u8]) -> Vec<u8> {
    let mut frame = to.to_vec();
    frame.extend(from.mac().octets());
    frame.extend(ethertype.to_be_bytes());
    frame.extend(payload);
    frame
}

pub(super) fn numbered_frame(from: &Node, number: usize) -> Vec<u8> {
    frame(BROADCAST, from, &number.to_be_bytes())
}

/// Returns the number in a frame that [`numbered_frame`] made.
pub(super) fn number(frame: &[u8]) -> usize {
    let bytes = frame[14..].first_chunk().expect("a numbered frame");
    usize::from_be_bytes(*bytes)
}

/// Sender of frames that does not use the code under test.
pub(super) struct Forger(Box<dyn DataLinkSender>);

impl Forger {
    pub(super) fn new(node: &Node) -> Result<Self> {
        node.ns().run(|| {
            let all = datalink::interfaces();
            let eth0 = all.iter().find(|found| found.name == "eth0");
            let config = datalink::Config {
                promiscuous: false,
                ..datalink::Config::default()
            };
            match datalink::channel(eth0.context("no eth0")?, config)? {
                Channel::Ethernet(sender, _) => Ok(Self(sender)),
                _ => anyhow::bail!("eth0 is not Ethernet"),
            }
        })?
    }

    pub(super) fn send(&mut self, frame: &[u8]) -> Result<()> {
        self.0.send_to(frame, None).context("no frame was sent")??;
        Ok(())
    }
}

pub(super) fn becomes_readable(fd: impl AsFd) -> Result<bool> {
    let mut poller = Poller::new()?;
    poller.add(fd, 0, Interest::Read)?;
    poller.wait(Some(WAIT_LIMIT))?;
    Ok(poller.ready().len() > 0)
}
