//! A station that sends only the test's frames.

use std::time::Duration;

use anyhow::{Context, Result};
use ring_segment::{ETHERTYPE, MacAddr, Message, Seen, Token, frame};

use super::segment::mac;
use super::simulation::Simulation;

/// A station of the test. It sends no answers by itself.
#[derive(Debug)]
pub(crate) struct Peer {
    port: usize,
    simulation: Simulation,
}

impl Peer {
    pub(crate) fn new(port: usize, simulation: &Simulation) -> Self {
        let simulation = simulation.clone();
        Self { port, simulation }
    }

    pub(crate) fn mac(&self) -> MacAddr {
        mac(self.port)
    }

    /// Returns a token of the peer's first chain. The token's progress is `progress`.
    pub(crate) fn token(&self, progress: u64) -> Token {
        Token {
            progress,
            author: self.mac(),
            number: 1,
        }
    }

    /// Sends a message with the peer's own address. Returns the time of the frame.
    pub(crate) fn send(&self, dst: MacAddr, message: &Message) -> Duration {
        self.send_as(self.mac(), dst, message)
    }

    /// Broadcasts a message. Returns the time of the frame.
    pub(crate) fn broadcast(&self, message: &Message) -> Duration {
        self.send(MacAddr::broadcast(), message)
    }

    /// Sends a message with the source and author of a different station.
    pub(crate) fn send_as(&self, src: MacAddr, dst: MacAddr, message: &Message) -> Duration {
        self.send_payload(src, dst, &message.payload(src))
    }

    /// Sends a payload from any MAC. Returns the time of the frame.
    pub(crate) fn send_payload(&self, src: MacAddr, dst: MacAddr, payload: &[u8]) -> Duration {
        let bytes = frame(dst, src, ETHERTYPE, payload);
        self.simulation.with(|inner| {
            inner.segment.send(self.port, bytes);
            inner.segment.now()
        })
    }

    /// Waits for a frame that `wanted` accepts, and drops other frames.
    ///
    /// # Errors
    /// Fails if such a frame does not arrive in time. The error lists the frames that arrived.
    pub(crate) fn expect(&self, timeout: Duration, wanted: impl Fn(&Seen) -> bool) -> Result<Seen> {
        let mut others = Vec::new();
        let found = self.simulation.wait(timeout, |inner| {
            while let Some(seen) = inner.segment.queue(self.port).pop_front() {
                if wanted(&seen) {
                    return Some(seen);
                }
                others.push(format!("  {seen:?}"));
            }
            None
        });
        found.with_context(|| {
            let others = others.join("\n");
            format!(
                "the expected frame did not arrive in {timeout:?}; the peer received:\n{others}"
            )
        })
    }

    /// Returns the unread frames and the frames that arrive during `window`.
    pub(crate) fn collect(&self, window: Duration) -> Vec<Seen> {
        self.simulation.pass(window);
        self.simulation
            .with(|inner| inner.segment.queue(self.port).drain(..).collect())
    }

    pub(crate) fn forget(&self) {
        self.simulation
            .with(|inner| inner.segment.queue(self.port).clear());
    }
}
