//! One simulated node: the driver that ships, and a link, a disk and an observer for it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;

use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, Stored};
use ring_runtime::driver::{
    Driver, Environment, Link, Observe, ReceiveBatch, Refused, Store, Streams, TransmitBatch,
};

use super::clock::Clock;
use super::kinds::Trouble;
use super::queue::{Bytes, id};
use super::rng::Rng;
use super::stats::Count;
use super::streams::Carrier;
use super::system::{Message, Moment, Peer, System};

/// Messages that wait for a process that does not read them. Fewer than one turn of the driver reads
/// before a time-out: a real socket's queue is bounded by the same rule.
pub const QUEUE: usize = 200;
/// Never, as a time.
pub const NEVER: u64 = u64::MAX;

/// What surrounds a node's machine.
pub type Surroundings<'a, 'b, S> = Environment<'a, Wire<'b, S>, Disk<'b, S>, Witness<'b, S>>;

/// A process, its machine, and its place in the network.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that know nothing of each other"
)]
pub struct Node<S: System> {
    /// What the system keeps of it.
    pub own: S::Node,
    /// `None`: the process is dead.
    pub driver: Option<Driver<S::Machine>>,
    /// Which of its lives this is.
    pub life: u32,
    /// What its clocks show.
    pub clock: Clock,
    /// When the process was started.
    pub up_since: u64,
    /// The process stands still, and what it has missed.
    pub paused: Option<S::Missed>,
    /// What has arrived, from whom, with the node's time of arrival.
    pub inbox: VecDeque<Arrived<Peer<S>>>,
    /// What carries its connections; `None`: the process is dead.
    pub streams: Option<S::Streams>,
    /// The earliest wake-up that is scheduled, or [`NEVER`].
    pub armed: u64,
    /// A slow node's turn lasts until then.
    pub busy_until: u64,
    /// How long a turn takes, in nanoseconds.
    pub slow: u64,
    /// Its disk takes nothing.
    pub disk_full: bool,
    /// It has no link.
    pub unplugged: bool,
    /// The longest payload that its interface carries.
    pub mtu: usize,
    /// How many send calls in 1,000 are refused.
    pub refuse: u16,
    /// Nothing reaches it.
    pub deaf: bool,
    /// Messages to single stations that it sends are lost, or those that it is to receive.
    pub unicast_lost: (bool, bool),
    /// Its interface refuses messages to a single station.
    pub unicast_refused: bool,
    /// Messages to all do not reach it.
    pub broadcasts_lost: bool,
    /// Which part of a cut network it is in.
    pub group: u8,
    /// When its last message arrives: a clear network does not reorder.
    pub last_due: u64,
}

impl<S: System> Node<S> {
    /// A node whose process is dead; its monotonic clock counts from `epoch`.
    pub fn new(own: S::Node, mtu: usize, epoch: u64) -> Self {
        Self {
            own,
            driver: None,
            life: 0,
            clock: Clock::new(epoch),
            up_since: 0,
            paused: None,
            inbox: VecDeque::new(),
            streams: None,
            armed: NEVER,
            busy_until: 0,
            slow: 0,
            disk_full: false,
            unplugged: false,
            mtu,
            refuse: 0,
            deaf: false,
            unicast_lost: (false, false),
            unicast_refused: false,
            broadcasts_lost: false,
            group: 0,
            last_due: 0,
        }
    }

    /// Whether the process is there and not stopped.
    pub const fn is_running(&self) -> bool {
        self.driver.is_some() && self.paused.is_none()
    }
}

/// A message that has arrived.
#[derive(Debug)]
pub struct Arrived<P> {
    /// Where it comes from.
    pub from: P,
    /// The message.
    pub bytes: Bytes,
    /// By the receiver's clock.
    pub at: Instant,
}

/// A message that a node has handed to its link.
pub struct Outgoing<S: System> {
    /// The message.
    pub message: Message<S>,
    /// By what it is counted.
    pub label: S::Label,
}

/// One input of one node, and what comes of it.
pub struct Scene<'a, S: System> {
    /// When, and whose.
    pub moment: Moment,
    /// The system, and what it keeps of the node.
    pub parts: RefCell<(&'a mut S, &'a mut S::Node)>,
}

/// The node's link.
pub struct Wire<'a, S: System> {
    /// What it is part of.
    pub scene: &'a Scene<'a, S>,
    /// What has arrived.
    pub inbox: &'a mut VecDeque<Arrived<Peer<S>>>,
    /// Its connections.
    pub streams: Option<&'a mut S::Streams>,
    /// What was sent.
    pub outgoing: &'a mut Vec<Outgoing<S>>,
    /// When the turn ends, by the node's clock.
    pub late: Now,
    /// Decides what is refused.
    pub rng: &'a mut Rng,
    /// How many send calls in 1,000 are refused.
    pub refuse: u16,
    /// Whether messages to single stations are refused.
    pub refuse_unicast: bool,
    /// The longest message, in bytes.
    pub longest: usize,
}

impl<S: System> Wire<'_, S> {
    /// Why the next message is not accepted, if it is not.
    fn refusal(&mut self, bytes: &[u8], to: Peer<S>) -> Option<Trouble> {
        if self.rng.chance(self.refuse) {
            Some(Trouble::Refuse)
        } else if self.refuse_unicast && !S::is_broadcast(bytes, to) {
            Some(Trouble::Unicast)
        } else {
            None
        }
    }
}

impl<S: System> Link<Peer<S>> for Wire<'_, S> {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<Peer<S>>) -> io::Result<()> {
        batch.clear();
        let (system, _) = &mut *self.scene.parts.borrow_mut();
        while let Some(buffer) = batch.next_buffer() {
            let Some(Arrived { from, bytes, at }) = self.inbox.pop_front() else {
                break;
            };
            let len = bytes.len().min(buffer.len());
            buffer[..len].copy_from_slice(&bytes[..len]);
            let age = now.monotonic.since(at);
            batch.push(len, from, now, age);
            system.heard(self.scene.moment, &bytes, age);
        }
        Ok(())
    }

    fn left_by(&self, _now: Now) -> Now {
        self.late
    }

    fn send(&mut self, batch: &TransmitBatch<Peer<S>>) -> Result<usize, Refused> {
        let first = batch.iter().next();
        if first.is_some_and(|(bytes, _)| bytes.len() > self.longest) {
            return Err(Refused::TooLong);
        }
        let (system, own) = &mut *self.scene.parts.borrow_mut();
        let mut accepted = 0;
        for (bytes, to) in batch.iter() {
            if bytes.len() > self.longest {
                break;
            }
            if let Some(trouble) = self.refusal(bytes, to) {
                system.count(Count::Met(trouble));
                break;
            }
            accepted += 1;
            if let Some((to, label)) = system.sent(self.scene.moment, own, bytes, to) {
                let node = self.scene.moment.node;
                let message = Message::<S> {
                    node: Some(id(node)),
                    from: S::address(node, own),
                    to,
                    bytes: bytes.into(),
                };
                self.outgoing.push(Outgoing { message, label });
            }
        }
        if accepted == 0 && !batch.is_empty() {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory).into());
        }
        Ok(accepted)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams<Peer<S>>> {
        self.streams.as_deref_mut().and_then(Carrier::streams)
    }
}

/// The node's disk.
pub struct Disk<'a, S: System> {
    /// What it is part of.
    pub scene: &'a Scene<'a, S>,
    /// It takes nothing.
    pub full: bool,
}

impl<S: System> Store<<S::Machine as Machine>::Durable> for Disk<'_, S> {
    fn store(&mut self, durable: &<S::Machine as Machine>::Durable) -> Stored {
        if self.full {
            return Stored::Failed;
        }
        let (_, own) = &mut *self.scene.parts.borrow_mut();
        S::stored(own, durable);
        Stored::Done
    }
}

/// Sees the machine's events.
pub struct Witness<'a, S: System>(pub &'a Scene<'a, S>);

impl<S: System> Observe<<S::Machine as Machine>::Event> for Witness<'_, S> {
    fn observe(&mut self, _now: Now, event: &<S::Machine as Machine>::Event) {
        let (system, own) = &mut *self.0.parts.borrow_mut();
        system.observed(self.0.moment, own, event);
    }
}
