//! The link of a node's driver: the link signs and verifies messages, and the simulator checks the messages that the
//! state machine gets.

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;

use ring_proto::time::Now;
use ring_runtime::driver::{
    Addressing, Authenticated, Link, ReceiveBatch, Refused, Signer, Streams, TransmitBatch,
};
use ring_trust::{TRAILER_LEN, len_without_trailer};

use super::node::NodeLink;
use super::queue::Bytes;
use super::system::{Peer, System};

const MS: u64 = 1_000_000;
/// The maximum time from the signing of a message to its arrival, if all clocks are right.
const MESSAGE_AGE_MAX: u64 = 1_000 * MS;
/// The time in which the clocks of a silent sender and its receiver may drift apart.
const DRIFT_TIME: u64 = 60_000 * MS;
/// The distance of the field `kind` from the end of a signed message.
pub(super) const KIND_FROM_END: usize = 21;

/// The kinds of messages that a state machine neither sends nor gets.
const HANDSHAKES: [(u8, &str); 2] = [(1, "CHALLENGE"), (2, "ANSWER")];

/// Returns the name of a signed message that does not come from a state machine.
pub(crate) fn handshake_name(signed: &[u8]) -> Option<&'static str> {
    if len_without_trailer(signed).is_some() {
        return None;
    }
    let kind = signed.get(signed.len().checked_sub(KIND_FROM_END)?)?;
    let known = HANDSHAKES.iter().find(|(number, _)| number == kind);
    known.map(|(_, name)| *name)
}

/// The address of a sender of signed messages.
pub type Sender<S> = <<S as System>::Addressing as Addressing>::Address;

/// A message that a node read from its link, before its signature was verified.
#[derive(Debug)]
pub(super) struct ReadMessage {
    pub(super) bytes: Bytes,
    pub(super) origin: Option<Origin>,
}

/// The record of a signed message that has arrived.
#[derive(Debug)]
pub(super) struct Origin {
    message: Rc<SignedMessage>,
    /// The simulated time of arrival.
    arrived: u64,
}

/// A message that a node signed.
#[derive(Debug)]
struct SignedMessage {
    node: usize,
    life: u32,
    at: u64,
    /// The nodes whose state machines got the message.
    receivers: RefCell<Vec<usize>>,
}

/// The recently signed messages, and their receivers.
#[derive(Debug)]
pub(super) struct SignedMessages<A> {
    messages: BTreeMap<Bytes, Rc<SignedMessage>>,
    in_order: VecDeque<(u64, Bytes)>,
    /// The last process of a sender whose messages a receiver got. The key contains the receiver, the receiver's
    /// process, the sender, and the sender's address, because a client's new process has a new port.
    lives: BTreeMap<(usize, u32, usize, A), u32>,
    /// The maximum error of any clock rate of the run, in millionths.
    drift: u64,
    /// The messages that the node has read during the current input.
    pub(super) read: Vec<ReadMessage>,
}

impl<A> Default for SignedMessages<A> {
    fn default() -> Self {
        Self {
            messages: BTreeMap::new(),
            in_order: VecDeque::new(),
            lives: BTreeMap::new(),
            drift: 0,
            read: Vec::new(),
        }
    }
}

impl<A: Copy + Ord> SignedMessages<A> {
    pub(super) fn note_clock_rate(&mut self, millionths: i32) {
        self.drift = self.drift.max(millionths.unsigned_abs().into());
    }

    /// The maximum time from the signing of a message to its arrival.
    fn age_max(&self) -> u64 {
        MESSAGE_AGE_MAX + DRIFT_TIME / 1_000_000 * 2 * self.drift
    }

    /// Records a message that a node signed.
    pub(super) fn on_sent(&mut self, (node, life): (usize, u32), at: u64, bytes: &Bytes) {
        let age_max = self.age_max();
        while let Some((sent, old)) = self.in_order.front() {
            if *sent + age_max >= at {
                break;
            }
            self.messages.remove(old);
            self.in_order.pop_front();
        }
        let message = SignedMessage {
            node,
            life,
            at,
            receivers: RefCell::default(),
        };
        self.messages.insert(Bytes::clone(bytes), Rc::new(message));
        self.in_order.push_back((at, Bytes::clone(bytes)));
    }

    /// Returns the record of the signed message that arrives now; `None` if no node has recently signed it.
    pub(super) fn find(&self, arrived: u64, bytes: &Bytes) -> Option<Origin> {
        let message = Rc::clone(self.messages.get(bytes)?);
        Some(Origin { message, arrived })
    }

    /// Checks that a state machine may get a message, whose trailer the link has removed. One of the messages that the
    /// node has just read must be the original: it comes from a node, and is new and recent. Returns whether there is
    /// such an original.
    fn on_delivered(
        &mut self,
        node: (usize, u32),
        up_since: u64,
        (from, delivered): (A, &[u8]),
    ) -> bool {
        let is_whole = |it: &&ReadMessage| {
            it.bytes.len() == delivered.len() + TRAILER_LEN && it.bytes.starts_with(delivered)
        };
        let whole = self.read.iter().filter(is_whole);
        let origins = whole.filter_map(|it| it.origin.as_ref());
        let mut legal = origins.filter(|it| self.is_legal(node, up_since, from, it));
        let Some(first) = legal.next() else {
            return false;
        };
        // The attacker may have sent another signed message with the same text from a wrong address. In this case it is
        // unknown which of the two messages the machine got.
        if legal.all(|it| Rc::ptr_eq(&it.message, &first.message)) {
            let message = Rc::clone(&first.message);
            let sender = (node.0, node.1, message.node, from);
            self.lives.insert(sender, message.life);
            message.receivers.borrow_mut().push(node.0);
        }
        true
    }

    fn is_legal(
        &self,
        (node, life): (usize, u32),
        up_since: u64,
        from: A,
        origin: &Origin,
    ) -> bool {
        let Origin { message, arrived } = origin;
        let last_life = self.lives.get(&(node, life, message.node, from));
        !message.receivers.borrow().contains(&node)
            // The message contains a nonce that the process made after its start, so it was signed after this start.
            && message.at >= up_since
            && message.at + self.age_max() >= *arrived
            && last_life.is_none_or(|last| message.life >= *last)
    }
}

/// The link of a node's driver.
pub struct SignedLink<'a, S: System> {
    link: Authenticated<NodeLink<'a, S>, S::Addressing>,
    /// The process of the node, and the simulated time of its start.
    life: (u32, u64),
}

impl<'a, S: System> SignedLink<'a, S> {
    pub(super) fn new(
        link: NodeLink<'a, S>,
        signer: Option<Signer<S::Addressing>>,
        life: (u32, u64),
    ) -> Self {
        let link = Authenticated::new(link, signer);
        Self { link, life }
    }

    /// Ends the use of the link, and returns its signer.
    pub(super) fn into_signer(mut self) -> Option<Signer<S::Addressing>> {
        self.link.set_signer(None)
    }

    /// Whether the state machine must not get unsigned messages.
    fn requires_signatures(&self) -> bool {
        let signer = self.link.signer();
        signer.is_some_and(|signer| !signer.authenticator().accepts_unsigned())
    }

    fn check(&mut self, batch: &ReceiveBatch<Peer<S>>) {
        let requires = self.requires_signatures();
        let signer = self.link.signer();
        let senders: Vec<_> = batch
            .iter()
            .map(|(bytes, from, ..)| Some(signer?.addressing().origin(bytes, from)?.address))
            .collect();
        let (life, up_since) = self.life;
        let NodeLink {
            context, signed, ..
        } = self.link.link_mut();
        let moment = context.moment;
        let parts = context.parts.borrow_mut();
        let mut system = RefMut::map(parts, |(system, _)| &mut **system);
        for ((bytes, peer, _, age), from) in batch.iter().zip(senders) {
            system.on_read(moment, bytes, age);
            let node = (moment.node, life);
            let is_legal = |from| signed.on_delivered(node, up_since, (from, bytes));
            if requires && !S::is_attackers(peer) && !from.is_some_and(is_legal) {
                system.on_forgery(moment, S::describe(bytes));
            }
        }
        signed.read.clear();
    }
}

impl<S: System> Link<Peer<S>> for SignedLink<'_, S> {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<Peer<S>>) -> io::Result<()> {
        self.link.receive(now, batch)?;
        self.check(batch);
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch<Peer<S>>) -> Result<usize, Refused> {
        self.link.send(batch)
    }

    fn sent_by(&self, now: Now) -> Now {
        self.link.sent_by(now)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams<Peer<S>>> {
        self.link.streams()
    }
}
