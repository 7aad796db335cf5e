//! The state machine that signs and verifies messages.

use std::time::Duration;

use zerocopy::IntoBytes;

use crate::addresses::{Destination, Origin, PseudoHeader};
use crate::counts::{Counts, DropReason};
use crate::keyring::{Key, KeyId, Keyring};
use crate::last_signer::LastSigner;
use crate::mac::MAC_LEN;
use crate::node_keys::NodeKeys;
use crate::nonces::Nonces;
use crate::outbox::{Outbox, Reply};
use crate::peers::{Arrival, Freshness, Peer, Peers};
use crate::trailer::{Kind, NONCE_LEN, TRAILER_LEN, Trailer};

/// The decision on a received message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The state machine gets the first `len` bytes.
    Deliver {
        /// Length of the message without the trailer.
        len: usize,
        /// Key of the message; `None` if the message is not proven.
        key: Option<KeyId>,
    },
    /// The state machine does not get the message.
    Drop(DropReason),
    /// The message was a challenge, an answer, or a broadcast of this node. The state machine does not get such a
    /// message.
    Consume,
}

/// Information about a sender that has a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerStatus<A> {
    /// Address of the sender.
    pub address: A,
    /// Key of the last proven message of the sender. `None` if no message of the sender was proven.
    pub key_id: Option<KeyId>,
    /// Whether the present boot of the sender is proven. Each start of a sender is a new boot.
    pub is_proven: bool,
    /// Time of the sender's last proven message, on the caller's clock.
    pub heard: Duration,
}

/// State machine that signs and verifies the messages of one link. `A` is the address of a sender.
///
/// All times are times of one monotonic clock of the caller. After each call of [`open`](Self::open), the caller must
/// send all output of [`poll_transmit`](Self::poll_transmit).
#[cfg_attr(test, derive(Clone))]
pub struct Authenticator<A> {
    keys: NodeKeys,
    accepts_unsigned: bool,
    challenges_unknown: bool,
    boot: u64,
    counter: u64,
    nonces: Nonces,
    peers: Peers<A>,
    outbox: Outbox<A>,
    counts: Counts,
}

impl<A: Copy + Ord> Authenticator<A> {
    /// Makes an authenticator. The caller draws an unpredictable `seed` for each link that it opens. If
    /// `accepts_unsigned`, the state machine also gets messages of senders that do not sign.
    pub fn new(keyring: &Keyring, accepts_unsigned: bool, seed: [u8; 32]) -> Self {
        let mut nonces = Nonces::new(seed);
        let [boot @ .., _, _, _, _, _, _, _, _] = nonces.draw();
        Self {
            keys: NodeKeys::new(keyring),
            accepts_unsigned,
            challenges_unknown: false,
            boot: u64::from_be_bytes(boot),
            counter: 0,
            nonces,
            peers: Peers::new(),
            outbox: Outbox::new(),
            counts: Counts::default(),
        }
    }

    /// Replaces the keys. Peers that are proven stay proven.
    pub fn set_keyring(&mut self, keyring: &Keyring, accepts_unsigned: bool) {
        self.keys.set_ring(keyring);
        self.accepts_unsigned = accepts_unsigned;
    }

    /// Replaces the keys that only clients use. Ignores each key whose id is also in the keyring.
    pub fn set_client_keys(&mut self, keys: &[Key]) {
        self.keys.set_clients(keys);
    }

    /// Makes this node challenge the sender of each message that is unsigned or has an unknown key. So after a restart,
    /// a server finds out the keys of its clients.
    pub fn challenge_unknown(&mut self) {
        self.challenges_unknown = true;
    }

    /// Signs the first `len` bytes of `buffer`, and appends the trailer. Returns the new length. If the buffer is too
    /// short, returns `None`.
    #[inline]
    pub fn seal(
        &mut self,
        now: Duration,
        to: &Destination<A>,
        buffer: &mut [u8],
        len: usize,
    ) -> Option<usize> {
        if to.client.is_some_and(|client| self.is_unsigned(client)) {
            return Some(len).filter(|len| *len <= buffer.len());
        }
        let client_key = to.client.and_then(|client| self.client_key_id(client));
        let key_id = match client_key {
            Some(id) => id,
            None => self.keys.ring_ids().next()?,
        };
        self.seal_as(
            to.header.message_kind(),
            key_id,
            &to.header,
            now,
            buffer,
            len,
        )
    }

    /// Verifies a message of this sender. The message arrived on this machine `age` before `now`.
    #[inline]
    pub fn open(
        &mut self,
        now: Duration,
        age: Duration,
        from: &Origin<A>,
        bytes: &[u8],
    ) -> Verdict {
        let Some((message, trailer)) = Trailer::split(bytes) else {
            self.greet_unknown(now, from.address);
            return self.deliver_unproven(DropReason::Unsigned, bytes.len());
        };
        let Some(kind) = trailer.kind() else {
            return self.drop(DropReason::Malformed);
        };
        let Some(addresses) = from.header.covered(kind) else {
            return self.drop(DropReason::Malformed);
        };
        let Some(key) = self.keys.get(trailer.key_id(), from.is_client) else {
            return match kind {
                Kind::Message | Kind::MessageToAll => {
                    self.greet_unknown(now, from.address);
                    self.deliver_unproven(DropReason::UnknownKey, message.len())
                }
                Kind::Challenge | Kind::Answer => self.drop(DropReason::UnknownKey),
            };
        };
        let key_id = key.id();
        if !key.is_valid(kind, addresses, Trailer::covered(bytes), trailer.mac()) {
            return self.drop(DropReason::WrongMac);
        }
        if trailer.boot() == self.boot {
            return match kind {
                // The kernel delivers a broadcast also to its sender.
                Kind::MessageToAll => Verdict::Consume,
                _ => self.drop(DropReason::Reflected),
            };
        }
        let arrival = Arrival {
            now,
            at: now.saturating_sub(age),
            key_id,
            trailer,
        };
        if from.is_client && self.belongs_to_other_client(now, from.address, key_id) {
            return self.drop(DropReason::UnknownKey);
        }
        let from = from.address;
        match (kind, message.last_chunk()) {
            (Kind::Message | Kind::MessageToAll, _) => {
                self.on_message(&arrival, from, message.len())
            }
            (Kind::Challenge, Some(nonce)) => self.on_challenge(&arrival, from, *nonce),
            (Kind::Answer, Some(nonce)) => self.on_answer(&arrival, from, nonce),
            (Kind::Challenge | Kind::Answer, None) => self.drop(DropReason::Malformed),
        }
    }

    /// Queues a challenge to a node from which no message has arrived yet. After the exchange of answers, both nodes
    /// know each other, so that the first message of this node is not lost.
    pub fn greet(&mut self, now: Duration, to: A) {
        let Some(key_id) = self.keys.ring_ids().next() else {
            return;
        };
        let nonces = &mut self.nonces;
        let peer = self.peers.entry(now, to);
        if let Some(nonce) = peer.challenge(now, || nonces.draw()) {
            self.queue(to, Kind::Challenge, key_id, nonce);
        }
    }

    fn greet_unknown(&mut self, now: Duration, to: A) {
        if self.challenges_unknown {
            self.greet(now, to);
        }
    }

    /// Writes the next challenge or answer into `buffer`. `write_header` writes the header of a message to an address,
    /// and returns the header's length and the pseudo-header. Returns the address of the receiver and the length of the
    /// output. Returns `None` if there is no output.
    pub fn poll_transmit(
        &mut self,
        now: Duration,
        buffer: &mut [u8],
        write_header: impl FnOnce(A, &mut [u8]) -> (usize, PseudoHeader),
    ) -> Option<(A, usize)> {
        let Reply {
            to,
            kind,
            key_id,
            nonce,
        } = self.outbox.pop()?;
        let (header_len, header) = write_header(to, buffer);
        let len = header_len + NONCE_LEN;
        buffer.get_mut(header_len..len)?.copy_from_slice(&nonce);
        Some((to, self.seal_as(kind, key_id, &header, now, buffer, len)?))
    }

    /// Returns a signer for another process, which signs the frames that it sends after the death of this process.
    /// Returns `None` without a key.
    pub fn last_signer(&self) -> Option<LastSigner> {
        let id = self.keys.ring_ids().next()?;
        let keys = self.keys.get(id.get(), false)?;
        Some(LastSigner::new(self.boot, self.counter, keys))
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) has output.
    pub fn has_output(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Sets the maximum number of senders in the table. The default is [`PEERS_MAX`](crate::PEERS_MAX).
    pub fn set_peers_max(&mut self, max: usize) {
        self.peers.set_max(max);
    }

    /// Returns the number of received messages that were not proven, for each reason.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Adds refused streams to the counts.
    pub fn add_refused(&mut self, reason: DropReason, number: u64) {
        self.counts.add(reason, number);
    }

    /// Whether the state machine also gets messages of senders that do not sign.
    pub fn accepts_unsigned(&self) -> bool {
        self.accepts_unsigned
    }

    /// Returns the ids of the keys. The first key signs.
    pub fn key_ids(&self) -> impl ExactSizeIterator<Item = KeyId> {
        self.keys.ring_ids()
    }

    /// Returns the senders that have a key, in the order of their addresses.
    pub fn peers(&self, now: Duration) -> impl Iterator<Item = PeerStatus<A>> {
        self.peers.iter().map(move |(address, peer)| PeerStatus {
            address,
            key_id: peer.key_id(),
            is_proven: peer.is_proven(now),
            heard: peer.last_heard(),
        })
    }

    fn on_message(&mut self, arrival: &Arrival<'_>, from: A, len: usize) -> Verdict {
        match self.peers.entry(arrival.now, from).receive(arrival) {
            Freshness::Fresh => deliver_proven(arrival, len),
            Freshness::FreshWithDrift => {
                self.challenge(arrival, from);
                deliver_proven(arrival, len)
            }
            Freshness::Replayed => self.drop(DropReason::Replayed),
            Freshness::Stale => {
                self.challenge(arrival, from);
                self.deliver_unproven(DropReason::Stale, len)
            }
            Freshness::Unproven => {
                self.challenge(arrival, from);
                self.deliver_unproven(DropReason::Unproven, len)
            }
        }
    }

    fn on_challenge(&mut self, arrival: &Arrival<'_>, from: A, nonce: [u8; NONCE_LEN]) -> Verdict {
        match self.peers.entry(arrival.now, from).receive(arrival) {
            Freshness::Fresh | Freshness::FreshWithDrift => {}
            Freshness::Replayed => return self.drop(DropReason::Replayed),
            // The peer is not proven, but this node answers: if two nodes start together, neither is proven, and both
            // must answer. The permit limits the work that replayed challenges cause.
            Freshness::Stale | Freshness::Unproven => {
                self.challenge(arrival, from);
                if !self.outbox.take_answer_permit(arrival.now) {
                    return self.drop(DropReason::Unproven);
                }
            }
        }
        self.queue(from, Kind::Answer, arrival.key_id, nonce);
        Verdict::Consume
    }

    fn on_answer(&mut self, arrival: &Arrival<'_>, from: A, nonce: &[u8; NONCE_LEN]) -> Verdict {
        if self.peers.entry(arrival.now, from).prove(arrival, nonce) {
            Verdict::Consume
        } else {
            self.drop(DropReason::Stale)
        }
    }

    /// Queues a challenge, unless the peer was challenged less than a millisecond ago.
    fn challenge(&mut self, arrival: &Arrival<'_>, to: A) {
        let nonces = &mut self.nonces;
        let peer = self.peers.entry(arrival.now, to);
        if let Some(nonce) = peer.challenge(arrival.now, || nonces.draw()) {
            self.queue(to, Kind::Challenge, arrival.key_id, nonce);
        }
    }

    fn queue(&mut self, to: A, kind: Kind, key_id: KeyId, nonce: [u8; NONCE_LEN]) {
        self.outbox.push(Reply {
            to,
            kind,
            key_id,
            nonce,
        });
    }

    /// Whether this node sends unsigned messages to the client, because the client may have no keys.
    fn is_unsigned(&self, client: A) -> bool {
        self.accepts_unsigned && self.peers.get(client).is_none()
    }

    /// Whether `id` is a client key, but a client with a different key is proven at this address. The client with the
    /// key `id` must not end the session of the other client. This also applies if the key of the other client was
    /// removed, because its session may continue.
    fn belongs_to_other_client(&self, now: Duration, client: A, id: KeyId) -> bool {
        let proven = self.peers.get(client).filter(|it| it.is_proven(now));
        let other = proven.and_then(Peer::key_id).filter(|it| *it != id);
        other.is_some() && self.keys.is_client_key(id)
    }

    /// Returns the key of the last proven message of a client. Returns `None` if this key is a ring key, or if there is
    /// no such message.
    fn client_key_id(&self, client: A) -> Option<KeyId> {
        let id = self.peers.get(client)?.key_id()?;
        self.keys.is_client_key(id).then_some(id)
    }

    fn drop(&mut self, reason: DropReason) -> Verdict {
        self.counts.add(reason, 1);
        Verdict::Drop(reason)
    }

    /// Delivers a message that is not proven, if unsigned messages are accepted.
    fn deliver_unproven(&mut self, reason: DropReason, len: usize) -> Verdict {
        match self.drop(reason) {
            _ if self.accepts_unsigned => Verdict::Deliver { len, key: None },
            verdict => verdict,
        }
    }

    #[inline]
    fn seal_as(
        &mut self,
        kind: Kind,
        key_id: KeyId,
        header: &PseudoHeader,
        now: Duration,
        buffer: &mut [u8],
        len: usize,
    ) -> Option<usize> {
        let (signed, _) = buffer.split_at_mut_checked(len + TRAILER_LEN)?;
        let addresses = header.covered(kind)?;
        self.counter += 1;
        let key = self.keys.get(key_id.get(), true)?;
        let trailer = Trailer::new(kind, key_id.get(), self.boot, self.counter, now);
        signed[len..].copy_from_slice(trailer.as_bytes());
        let mac = key.sign(kind, addresses, Trailer::covered(signed));
        if let Some(end) = signed.last_chunk_mut::<MAC_LEN>() {
            *end = mac;
        }
        Some(signed.len())
    }
}

fn deliver_proven(arrival: &Arrival<'_>, len: usize) -> Verdict {
    Verdict::Deliver {
        len,
        key: Some(arrival.key_id),
    }
}

#[cfg(test)]
#[path = "authenticator_tests/mod.rs"]
mod tests;
