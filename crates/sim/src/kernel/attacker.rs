//! A host without a key of the ring that hears all messages, and sends recorded, changed and forged messages.

use std::collections::VecDeque;

use ring_trust::{NONCE_LEN, TRAILER_LEN};

use super::kinds::FaultEffect;
use super::queue::{self, Event};
use super::rng::Rng;
use super::signed_link::{KIND_FROM_END, handshake_name};
use super::simulation::Simulation;
use super::stream_attacker::StreamAttacks;
use super::streams::Carrier;
use super::system::{Message, System};

/// The number of the latest messages that the attacker keeps.
const LATEST_MAX: usize = 32;
/// The maximum number of messages of each kind that the attacker keeps from the whole run.
const KEPT_MAX: usize = 256;

/// The messages that the attacker has heard.
#[derive(Debug)]
pub(super) struct Recordings<P, A> {
    latest: VecDeque<queue::Message<P, A>>,
    messages: Kept<queue::Message<P, A>>,
    /// Challenges and answers.
    handshakes: Kept<queue::Message<P, A>>,
    pub(super) streams: StreamAttacks,
}

/// A random selection of all items.
#[derive(Debug)]
struct Kept<T> {
    items: Vec<T>,
    /// The number of all items.
    count: usize,
}

impl<T: Clone> Kept<T> {
    const EMPTY: Self = Self {
        items: Vec::new(),
        count: 0,
    };

    /// Adds an item. If the selection is full, the item may replace another item.
    fn add(&mut self, rng: &mut Rng, item: &T) {
        self.count += 1;
        if self.items.len() < KEPT_MAX {
            self.items.push(item.clone());
        } else if let Some(place) = self.items.get_mut(rng.index(self.count)) {
            *place = item.clone();
        }
    }

    fn pick(&self, rng: &mut Rng) -> Option<&T> {
        self.items.get(rng.index(self.items.len()))
    }
}

impl<P: Clone, A: Clone> Recordings<P, A> {
    pub(super) fn new() -> Self {
        Self {
            latest: VecDeque::with_capacity(LATEST_MAX),
            messages: Kept::EMPTY,
            handshakes: Kept::EMPTY,
            streams: StreamAttacks::default(),
        }
    }

    fn record(&mut self, rng: &mut Rng, message: &queue::Message<P, A>) {
        if self.latest.len() == LATEST_MAX {
            self.latest.pop_front();
        }
        self.latest.push_back(message.clone());
        let kept = match handshake_name(&message.bytes) {
            Some(_) => &mut self.handshakes,
            None => &mut self.messages,
        };
        kept.add(rng, message);
    }

    /// Draws one of the latest messages, one message of the whole run, or one challenge or answer.
    fn pick(&self, rng: &mut Rng) -> Option<queue::Message<P, A>> {
        match rng.below(4) {
            0 => self.messages.pick(rng),
            1 => self.handshakes.pick(rng),
            _ => self.latest.get(rng.index(self.latest.len())),
        }
        .cloned()
    }
}

impl<S: System> Simulation<S> {
    /// Lets the attacker hear all messages.
    pub(crate) fn start_recording(&mut self) {
        self.recordings = Some(Recordings::new());
    }

    /// Whether the attacker hears all messages.
    pub(crate) const fn has_attacker(&self) -> bool {
        self.recordings.is_some()
    }

    pub(super) fn record(&mut self, message: &Message<S>) {
        if let Some(recordings) = &mut self.recordings {
            recordings.record(&mut self.rng, message);
            S::on_overheard(self, message);
        }
    }

    /// Makes the attacker send messages at random times. `over` is a duration in nanoseconds.
    pub(crate) fn begin_attack(&mut self, messages: u16, over: u64) {
        for _ in 0..messages {
            let at = self.now + self.rng.below(over.saturating_add(1));
            self.queue.push(at, Event::Attack);
        }
    }

    /// Sends one message of the attacker. Often also attacks a connection.
    pub(super) fn attack(&mut self) {
        if S::Streams::ANY && self.rng.chance(500) {
            self.attack_stream();
        }
        let Some(mut message) = self.pick_recorded() else {
            return;
        };
        match self.rng.below(12) {
            0..3 => {}
            3 => S::readdress(self, &mut message),
            4 => self.flip_bits(&mut message),
            5 => self.replace_trailer(&mut message),
            6 => self.replace_nonce(&mut message),
            7 => self.replace_kind(&mut message),
            8 | 9 => {
                message = S::forge(self, &message);
                self.append_trailer(&mut message);
            }
            _ => message = S::forge(self, &message),
        }
        S::update_destination(&mut message);
        self.count_effect(FaultEffect::Attack);
        self.inject(message.from, message.to, message.bytes);
    }

    fn pick_recorded(&mut self) -> Option<Message<S>> {
        self.recordings.as_ref()?.pick(&mut self.rng)
    }

    fn flip_bits(&mut self, message: &mut Message<S>) {
        let mut bytes = message.bytes.to_vec();
        // Half of the changes hit only the trailer, because its number and its time are more interesting than the data.
        let first = match self.rng.below(2) {
            0 => 0,
            _ => bytes.len().saturating_sub(TRAILER_LEN),
        };
        for _ in 0..self.rng.between(1, 3) {
            let bit = self.rng.index(8 * (bytes.len() - first));
            bytes[first + bit / 8] ^= 1 << (bit % 8);
        }
        message.bytes = bytes.into();
    }

    /// Gives the message the trailer of another message.
    fn replace_trailer(&mut self, message: &mut Message<S>) {
        let len = message.bytes.len().saturating_sub(TRAILER_LEN);
        message.bytes = message.bytes[..len].into();
        self.append_trailer(message);
    }

    fn append_trailer(&mut self, message: &mut Message<S>) {
        if let Some(other) = self.pick_recorded() {
            let at = other.bytes.len().saturating_sub(TRAILER_LEN);
            message.bytes = [&message.bytes, &other.bytes[at..]].concat().into();
        }
    }

    /// Replaces the last bytes before the trailer: the nonce of a challenge or an answer.
    fn replace_nonce(&mut self, message: &mut Message<S>) {
        let recordings = self.recordings.as_ref();
        let nonce = |bytes: &[u8]| {
            let end = bytes.len().checked_sub(TRAILER_LEN)?;
            Some(end.checked_sub(NONCE_LEN)?..end)
        };
        let picked = recordings.and_then(|it| it.handshakes.pick(&mut self.rng));
        let Some(other) = picked.map(|it| queue::Bytes::clone(&it.bytes)) else {
            return;
        };
        if let (Some(from), Some(to)) = (nonce(&other), nonce(&message.bytes)) {
            let mut bytes = message.bytes.to_vec();
            bytes[to].copy_from_slice(&other[from]);
            message.bytes = bytes.into();
        }
    }

    /// Turns a message into a challenge or an answer, or turns a challenge into a message.
    fn replace_kind(&mut self, message: &mut Message<S>) {
        let mut bytes = message.bytes.to_vec();
        let at = bytes.len().checked_sub(KIND_FROM_END);
        if let Some(kind) = at.and_then(|at| bytes.get_mut(at)) {
            *kind = self.rng.pick(&[0, 1, 2, 3]);
        }
        message.bytes = bytes.into();
    }
}
