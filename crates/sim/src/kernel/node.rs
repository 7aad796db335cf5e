//! A simulated node: the daemon's driver with a link, a disk and an observer.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;

use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, StoreOutcome};
use ring_runtime::driver::{
    Driver, Environment, Link, Observe, ReceiveBatch, Refused, Signer, Store, Streams,
    TransmitBatch,
};

use ring_trust::len_without_trailer;

use super::clock::Clock;
use super::keys::NodeKeys;
use super::kinds::FaultEffect;
use super::queue::{Bytes, id};
use super::rng::Rng;
use super::signed_link::{Origin, ReadMessage, Sender, SignedLink, SignedMessages, handshake_name};
use super::stats::Count;
use super::streams::Carrier;
use super::system::{Message, Moment, Peer, System};

/// The maximum number of messages that wait for a stalled process. One loop iteration of the driver can read more
/// messages than this maximum. One loop iteration can also read more messages than the queue of a real socket holds.
pub const INBOX_MESSAGES_MAX: usize = 200;
/// The time of an event that never happens.
pub const NEVER: u64 = u64::MAX;

/// The environment of a node's driver.
pub type NodeEnvironment<'a, 'b, S> =
    Environment<'a, SignedLink<'b, S>, NodeDisk<'b, S>, MachineObserver<'b, S>>;

/// A process, its state machine, and its place in the network.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
pub struct Node<S: System> {
    /// Data that the system stores for this node.
    pub(crate) own: S::Node,
    /// The driver; `None` if the process is dead.
    pub driver: Option<Driver<S::Machine>>,
    /// The number of the process, counted from 1 at the first start.
    pub(crate) life: u32,
    pub(crate) clock: Clock,
    /// The keys in the node's configuration.
    pub(crate) keys: NodeKeys,
    /// The signer of the process; `None` without keys.
    pub(crate) signer: Option<Signer<S::Addressing>>,
    /// The simulated time at which the process was started.
    pub(crate) up_since: u64,
    /// The events that a stalled process missed; `None` if the process is not stalled.
    pub(crate) paused: Option<S::Missed>,
    /// The messages that the process has not read.
    pub(crate) inbox: VecDeque<ArrivedMessage<Peer<S>>>,
    /// The node's connections; `None` if the process is dead.
    pub(crate) streams: Option<S::Streams>,
    /// The earliest wake-up that is scheduled, or [`NEVER`].
    pub(crate) armed: u64,
    /// The end of a slow node's loop iteration.
    pub(crate) busy_until: u64,
    /// The duration of a loop iteration, in nanoseconds.
    pub(crate) slow: u64,
    pub(crate) disk_full: bool,
    pub(crate) unplugged: bool,
    /// The longest payload that the node's interface carries.
    pub(crate) mtu: usize,
    /// The number of refused send calls per thousand.
    pub(crate) refuse: u16,
    /// Whether no message reaches the node.
    pub(crate) deaf: bool,
    /// Two flags: whether all unicasts from the node are lost, and whether all unicasts to the node are lost.
    pub(crate) unicast_lost: (bool, bool),
    pub(crate) unicast_refused: bool,
    /// Whether broadcasts do not reach the node.
    pub(crate) broadcasts_lost: bool,
    /// The part of a split network to which the node belongs.
    pub(crate) group: u8,
    /// The time of arrival of the node's last message. Later messages arrive at this time or later, because a network
    /// without faults keeps the order of messages.
    pub(crate) last_due: u64,
}

impl<S: System> Node<S> {
    /// Returns a node without a process, whose monotonic clock starts at `epoch`.
    pub fn new(own: S::Node, mtu: usize, epoch: u64) -> Self {
        Self {
            own,
            driver: None,
            life: 0,
            clock: Clock::new(epoch),
            keys: NodeKeys::default(),
            signer: None,
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

    /// Whether the process is alive and not stalled.
    pub const fn is_running(&self) -> bool {
        self.driver.is_some() && self.paused.is_none()
    }
}

/// A message that arrived.
#[derive(Debug)]
pub struct ArrivedMessage<P> {
    /// The sender's address.
    pub from: P,
    /// The bytes.
    pub bytes: Bytes,
    /// The time of arrival, by the receiver's clock.
    pub at: Instant,
    /// The record of the signed message; `None` if no node signed these bytes.
    pub(super) origin: Option<Origin>,
}

/// A message that a node gave to its link.
pub struct OutgoingMessage<S: System> {
    /// The message.
    pub message: Message<S>,
    /// The label under which the message is counted.
    pub label: S::Label,
}

/// The system and the node while one input is handled.
pub struct InputContext<'a, S: System> {
    /// The time of the input, and the node that gets the input.
    pub moment: Moment,
    /// The system, and the system's data of this node.
    pub parts: RefCell<(&'a mut S, &'a mut S::Node)>,
}

/// The node's link.
pub struct NodeLink<'a, S: System> {
    /// The input that is handled.
    pub context: &'a InputContext<'a, S>,
    /// The messages that arrived and are not read.
    pub inbox: &'a mut VecDeque<ArrivedMessage<Peer<S>>>,
    /// The node's connections.
    pub streams: Option<&'a mut S::Streams>,
    /// The messages sent.
    pub outgoing: &'a mut Vec<OutgoingMessage<S>>,
    /// Whether the node signs its messages.
    pub(super) signs: bool,
    /// The signed messages of all nodes.
    pub(super) signed: &'a mut SignedMessages<Sender<S>>,
    /// The end of the loop iteration, by the node's clock.
    pub late: Now,
    /// The random numbers that decide about refusals.
    pub rng: &'a mut Rng,
    /// The number of refused send calls per thousand.
    pub refuse: u16,
    /// Whether unicasts are refused.
    pub refuse_unicast: bool,
    /// The longest message, in bytes.
    pub longest: usize,
}

impl<S: System> NodeLink<'_, S> {
    /// Returns the fault that makes the interface refuse the next message, if there is such a fault.
    fn refusal(&mut self, bytes: &[u8], to: Peer<S>) -> Option<FaultEffect> {
        if self.rng.chance(self.refuse) {
            Some(FaultEffect::Refuse)
        } else if self.refuse_unicast && !S::is_broadcast(bytes, to) {
            Some(FaultEffect::Unicast)
        } else {
            None
        }
    }
}

impl<S: System> Link<Peer<S>> for NodeLink<'_, S> {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<Peer<S>>) -> io::Result<()> {
        batch.clear();
        while let Some(buffer) = batch.next_buffer() {
            let Some(message) = self.inbox.pop_front() else {
                break;
            };
            let ArrivedMessage {
                from,
                bytes,
                at,
                origin,
            } = message;
            let len = bytes.len().min(buffer.len());
            buffer[..len].copy_from_slice(&bytes[..len]);
            let age = now.monotonic.since(at);
            batch.push(len, from, now, age);
            if self.signs {
                self.signed.read.push(ReadMessage { bytes, origin });
            }
        }
        Ok(())
    }

    fn sent_by(&self, _now: Now) -> Now {
        self.late
    }

    fn send(&mut self, batch: &TransmitBatch<Peer<S>>) -> Result<usize, Refused> {
        let first = batch.iter().next();
        if first.is_some_and(|(bytes, _)| bytes.len() > self.longest) {
            return Err(Refused::TooLong);
        }
        let (system, own) = &mut *self.context.parts.borrow_mut();
        let mut accepted = 0;
        for (bytes, to) in batch.iter() {
            if bytes.len() > self.longest {
                break;
            }
            if let Some(trouble) = self.refusal(bytes, to) {
                system.count(Count::Effect(trouble));
                break;
            }
            accepted += 1;
            let sent = if let Some(name) = handshake_name(bytes).filter(|_| self.signs) {
                Some(S::on_handshake(bytes, to, name))
            } else {
                // A node with keys does not sign messages to a client that may have no keys.
                let signed_len = len_without_trailer(bytes).filter(|_| self.signs);
                let message = &bytes[..signed_len.unwrap_or(bytes.len())];
                system.on_sent(self.context.moment, own, message, to)
            };
            if let Some((to, label)) = sent {
                let node = self.context.moment.node;
                let message = Message::<S> {
                    node: Some(id(node)),
                    from: S::address(node, own),
                    to,
                    bytes: bytes.into(),
                };
                self.outgoing.push(OutgoingMessage { message, label });
            }
        }
        // A real socket reports a full queue only if it has accepted nothing of the batch.
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
pub struct NodeDisk<'a, S: System> {
    /// The input that is handled.
    pub context: &'a InputContext<'a, S>,
    /// Whether writes fail.
    pub full: bool,
}

impl<S: System> Store<<S::Machine as Machine>::Durable> for NodeDisk<'_, S> {
    fn store(&mut self, durable: &<S::Machine as Machine>::Durable) -> StoreOutcome {
        if self.full {
            return StoreOutcome::Failed;
        }
        let (_, own) = &mut *self.context.parts.borrow_mut();
        S::store(own, durable);
        StoreOutcome::Done
    }
}

/// The observer of the state machine's events.
pub struct MachineObserver<'a, S: System>(pub &'a InputContext<'a, S>);

impl<S: System> Observe<<S::Machine as Machine>::Event> for MachineObserver<'_, S> {
    fn observe(&mut self, _now: Now, event: &<S::Machine as Machine>::Event) {
        let (system, own) = &mut *self.0.parts.borrow_mut();
        system.on_event(self.0.moment, own, event);
    }
}
