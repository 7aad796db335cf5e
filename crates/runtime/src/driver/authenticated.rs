//! A link with signed messages.

use std::fmt;
use std::io;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_proto::time::{Instant, Now};
use ring_trust::{Authenticator, DropReason, Verdict, len_without_trailer};

use super::addressing::{Addressing, FrameAddressing};
use super::{Link, Quota, ReceiveBatch, Refused, Streams, TransmitBatch, frames};

/// Signs and verifies the messages of an [`Authenticated`] link.
pub struct Signer<D: Addressing = FrameAddressing> {
    authenticator: Authenticator<D::Address>,
    addressing: D,
    transmit: TransmitBatch<D::Peer>,
    /// Time of the last receive call.
    now: Now,
    /// For each reason, the address of the last sender whose message was dropped.
    refused: [Option<D::Address>; DropReason::ALL.len()],
}

impl Signer {
    /// Makes a signer for a link that carries frames.
    pub fn of_frames(authenticator: Authenticator<MacAddr>, addressing: FrameAddressing) -> Self {
        Self::new(authenticator, addressing, frames::transmit_batch())
    }
}

#[cfg(feature = "streams")]
impl Signer<super::DatagramAddressing> {
    /// Adds the numbers of refused streams to the numbers of refused messages.
    pub fn collect_refused<N>(&mut self, streams: &mut super::Encrypted<N>)
    where
        N: super::Network<std::net::SocketAddr>,
    {
        for (reason, number, from) in streams.take_refused() {
            self.authenticator.add_refused(reason, number);
            self.refused[reason as usize] = Some(from);
        }
    }
}

impl<D: Addressing> Signer<D> {
    /// Makes a signer. `transmit` is an empty batch. Each of its buffers must have room for a message with its
    /// signature.
    pub fn new(
        authenticator: Authenticator<D::Address>,
        addressing: D,
        transmit: TransmitBatch<D::Peer>,
    ) -> Self {
        Self {
            authenticator,
            addressing,
            transmit,
            now: Now {
                monotonic: Instant::default(),
                wall: 0,
            },
            refused: [None; DropReason::ALL.len()],
        }
    }

    /// Returns the authenticator.
    pub fn authenticator(&self) -> &Authenticator<D::Address> {
        &self.authenticator
    }

    /// Returns the authenticator, so that the caller can change its keys.
    pub fn authenticator_mut(&mut self) -> &mut Authenticator<D::Address> {
        &mut self.authenticator
    }

    /// Returns the addresses of this node and its peers.
    pub fn addressing(&self) -> &D {
        &self.addressing
    }

    /// Returns the addresses of this node and its peers, so that the caller can change them.
    pub fn addressing_mut(&mut self) -> &mut D {
        &mut self.addressing
    }

    /// Sets the addresses of this node, for example after a change of its MAC.
    pub fn set_addressing(&mut self, addressing: D) {
        self.addressing = addressing;
    }

    /// Returns the address of the sender whose message was last dropped for this reason. Any host can forge this
    /// address.
    pub fn last_refused(&self, reason: DropReason) -> Option<D::Address> {
        self.refused[reason as usize]
    }

    /// Signs the messages of a batch, and sends them. If a message and its signature are too long together, stops
    /// before this message.
    fn send<L: Link<D::Peer>>(
        &mut self,
        link: &mut L,
        batch: &TransmitBatch<D::Peer>,
    ) -> Result<usize, Refused> {
        let now = time(link.sent_by(self.now).monotonic);
        self.transmit.clear();
        for (message, to) in batch.iter() {
            let Some(buffer) = self.transmit.next_buffer() else {
                break;
            };
            let Some(start) = buffer.get_mut(..message.len()) else {
                break;
            };
            start.copy_from_slice(message);
            let receiver = self.addressing.destination(to);
            let sealed = self
                .authenticator
                .seal(now, &receiver, buffer, message.len());
            let Some(len) = sealed else {
                break;
            };
            self.transmit.push(len, to);
        }
        if self.transmit.is_empty() && !batch.is_empty() {
            return Err(Refused::TooLong);
        }
        link.send(&self.transmit)
    }

    /// Verifies the messages of a received batch. Removes their signatures, and removes the messages that the machine
    /// must not get.
    fn verify(&mut self, batch: &mut ReceiveBatch<D::Peer>) {
        let Self {
            authenticator,
            addressing,
            refused,
            ..
        } = self;
        batch.retain(|message, from, now, age| {
            let sender = addressing.origin(message, from)?;
            match authenticator.open(time(now.monotonic), age, &sender, message) {
                Verdict::Deliver { len, key } => {
                    let message = message.get(..len)?;
                    let is_permitted = addressing.permits(sender.address, key, message);
                    is_permitted.then_some(len)
                }
                Verdict::Drop(reason) => {
                    refused[reason as usize] = Some(sender.address);
                    None
                }
                Verdict::Consume => None,
            }
        });
    }

    /// Sends all challenges and answers. A challenge or an answer that the link refuses is lost. This is harmless,
    /// because later messages cause new challenges.
    fn reply<L: Link<D::Peer>>(&mut self, link: &mut L) {
        let Self {
            authenticator,
            addressing,
            transmit,
            now,
            ..
        } = self;
        while authenticator.has_output() {
            let now = time(link.sent_by(*now).monotonic);
            transmit.clear();
            while let Some(buffer) = transmit.next_buffer() {
                let header = |to, buffer: &mut [u8]| addressing.write_header(to, buffer);
                let Some((to, len)) = authenticator.poll_transmit(now, buffer, header) else {
                    break;
                };
                transmit.push(len, addressing.peer(to));
            }
            while !transmit.is_empty() {
                let sent = link.send(transmit).unwrap_or(0);
                transmit.drop_first(sent.max(1));
            }
        }
    }
}

impl<D: Addressing> fmt::Debug for Signer<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.authenticator.key_ids().collect();
        let mut debug = f.debug_struct("Signer");
        debug.field("keys", &keys).finish_non_exhaustive()
    }
}

/// A link that signs the messages that it sends, and verifies the messages that it receives
/// (`docs/reference/trust.md`). The machine gets neither signatures nor challenges. A link without a [`Signer`] sends
/// unsigned messages, and verifies nothing.
#[derive(Debug)]
pub struct Authenticated<L, D: Addressing = FrameAddressing> {
    link: L,
    signer: Option<Signer<D>>,
}

impl<L, D: Addressing> Authenticated<L, D> {
    /// Wraps a link.
    pub fn new(link: L, signer: Option<Signer<D>>) -> Self {
        Self { link, signer }
    }

    /// Returns the wrapped link.
    pub fn link(&self) -> &L {
        &self.link
    }

    /// Returns the wrapped link, for example to query its counters.
    pub fn link_mut(&mut self) -> &mut L {
        &mut self.link
    }

    /// Sends challenges to nodes from which no message has arrived yet. Later calls to receive handle their answers.
    pub fn greet(&mut self, now: Now, nodes: impl IntoIterator<Item = D::Address>)
    where
        L: Link<D::Peer>,
    {
        if let Some(signer) = &mut self.signer {
            signer.now = now;
            for node in nodes {
                signer.authenticator.greet(time(now.monotonic), node);
            }
            signer.reply(&mut self.link);
        }
    }

    /// Returns the signer; `None` if messages are not signed.
    pub fn signer(&self) -> Option<&Signer<D>> {
        self.signer.as_ref()
    }

    /// Returns the signer, so that the caller can change its keys or addresses.
    pub fn signer_mut(&mut self) -> Option<&mut Signer<D>> {
        self.signer.as_mut()
    }

    /// Replaces the signer, and returns the previous one. Without a signer, messages are not signed.
    pub fn set_signer(&mut self, signer: Option<Signer<D>>) -> Option<Signer<D>> {
        std::mem::replace(&mut self.signer, signer)
    }
}

impl<L: Link<D::Peer>, D: Addressing> Link<D::Peer> for Authenticated<L, D> {
    const QUOTA: Quota = L::QUOTA;

    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<D::Peer>) -> io::Result<()> {
        self.link.receive(now, batch)?;
        if let Some(signer) = &mut self.signer {
            signer.now = now;
            signer.verify(batch);
            signer.reply(&mut self.link);
        } else if D::REMOVES_TRAILERS {
            batch.retain(|message, _, _, _| len_without_trailer(message));
        }
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch<D::Peer>) -> Result<usize, Refused> {
        match &mut self.signer {
            None => self.link.send(batch),
            Some(signer) => signer.send(&mut self.link, batch),
        }
    }

    fn sent_by(&self, now: Now) -> Now {
        self.link.sent_by(now)
    }

    fn has_message(&self) -> bool {
        self.link.has_message()
    }

    fn streams(&mut self) -> Option<&mut dyn Streams<D::Peer>> {
        self.link.streams()
    }
}

fn time(instant: Instant) -> Duration {
    Duration::from_nanos(instant.as_nanos())
}
