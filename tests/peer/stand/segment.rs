//! A wire with three stations, a recording of all frames, and the daemon's link.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use ring_proto::time::Now;
use ring_runtime::driver::{Link, ReceiveBatch, Refused, TransmitBatch};
use ring_segment::{MacAddr, Seen};

use super::clock;

/// Travel time of each frame. Frames arrive in the order in which they were sent.
pub(crate) const FLIGHT: Duration = Duration::from_micros(10);

/// Ports of the stations. The daemon's MAC lies between the MACs of the peers.
pub(super) const LOW: usize = 0;
pub(super) const DAEMON: usize = 1;
pub(super) const HIGH: usize = 2;
const STATIONS: usize = 3;

pub(super) fn mac(port: usize) -> MacAddr {
    const LAST_OCTETS: [u8; STATIONS] = [1, 2, 3];
    MacAddr::new(2, 0, 0, 0, 0, LAST_OCTETS[port])
}

/// The wire, the frames under way, and the frames that arrived at each station.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    now: Duration,
    /// Frames under way, in the order in which they were sent.
    under_way: VecDeque<Seen>,
    /// All sent frames.
    recording: Vec<Seen>,
    /// Unread frames of each station.
    queues: [VecDeque<Seen>; STATIONS],
}

impl Segment {
    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    pub(crate) fn recording(&self) -> &[Seen] {
        &self.recording
    }

    pub(crate) fn queue(&mut self, port: usize) -> &mut VecDeque<Seen> {
        &mut self.queues[port]
    }

    pub(crate) fn send(&mut self, port: usize, bytes: Vec<u8>) {
        let seen = Seen::read(self.now, port, bytes).expect("a frame has an Ethernet header");
        self.recording.push(seen.clone());
        self.under_way.push_back(seen);
    }

    pub(crate) fn next_arrival(&self) -> Option<Duration> {
        self.under_way.front().map(|sent| sent.at + FLIGHT)
    }

    /// Advances the time to `to`, and delivers the frames that arrive by then.
    pub(crate) fn advance(&mut self, to: Duration) {
        self.now = to;
        while let Some(at) = self.next_arrival().filter(|&at| at <= to) {
            let Some(sent) = self.under_way.pop_front() else {
                break;
            };
            for port in (0..STATIONS).filter(|&port| port != sent.port) {
                if sent.is_broadcast() || sent.dst == mac(port) {
                    let sent = sent.clone();
                    self.queues[port].push_back(Seen { at, port, ..sent });
                }
            }
        }
    }
}

/// The daemon's link.
pub(super) struct Port<'a>(pub &'a mut Segment);

impl Link for Port<'_> {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()> {
        batch.clear();
        while let Some(buffer) = batch.next_buffer() {
            let Some(frame) = self.0.queue(DAEMON).pop_front() else {
                break;
            };
            let length = frame.bytes.len().min(buffer.len());
            buffer[..length].copy_from_slice(&frame.bytes[..length]);
            let age = now.monotonic.since(clock::now(frame.at).monotonic);
            batch.push(length, (), now, age);
        }
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused> {
        for (frame, ()) in batch.iter() {
            self.0.send(DAEMON, frame.to_vec());
        }
        Ok(batch.len())
    }
}
