//! The datagrams and connections of strangers. A stranger uses its own name or the name of a node.

use std::net::SocketAddr;

use ring_codec::U32;
use ring_codec::andrews::{Election, Frame, Message, Method};

use super::notation::stranger;
use super::system::World;
use crate::kernel::stranger::{Ending, Stranger};

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
/// An id that is in no list.
const UNKNOWN_ID: u32 = 999_999_999;

impl World {
    pub(super) fn send_strange_datagram(&mut self, node: usize) {
        let at = self.rng.index(self.len());
        let id = self.nodes[at].own.id;
        let (from, mut bytes) = match self.rng.below(5) {
            // The sender is a node with a wrong address, an unknown id with a node's address, or the receiver itself.
            0 => (stranger(), encode(id, Message::SuccessorRequest)),
            1 => (
                self.nodes[at].own.address,
                encode(UNKNOWN_ID, Message::Join),
            ),
            2 => {
                let own = &self.nodes[node].own;
                (own.address, encode(own.id, Message::SuccessorRequest))
            }
            // A message of this type belongs on a connection, not in a datagram.
            3 => {
                let sequence = self.system.tables.topology.sequence + 1;
                let address = self.nodes[at].own.address;
                (address, encode(id, Message::Token { sequence }))
            }
            _ => {
                let len = self.rng.index(40);
                let noise = (0..len).map(|_| self.rng.draw().to_be_bytes()[0]);
                (stranger(), noise.collect())
            }
        };
        if self.rng.chance(200) {
            bytes.truncate(self.rng.index(bytes.len()));
        }
        let to = self.nodes[node].own.address;
        self.inject(from, to, bytes.into());
    }

    /// Connects a stranger that does not follow the protocol of a predecessor.
    pub(super) fn connect_stranger(&mut self, node: usize) {
        let to = self.nodes[node].own.id;
        let at = self.rng.index(self.len());
        let id = self.nodes[at].own.id;
        let hello = encode(id, Message::Successor { successor_id: to });
        let mut says = match self.rng.below(4) {
            0 => Vec::new(),
            1 => encode(id, Message::Join),
            2 => hello,
            _ => vec![1, 2, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff],
        };
        if self.rng.chance(300) {
            says.truncate(self.rng.index(says.len()));
        }
        self.connect_from(stranger(), node, says);
    }

    fn connect_from(&mut self, from: SocketAddr, node: usize, says: Vec<u8>) {
        let gap = self.rng.pick(&[US, MS, 20 * MS]);
        let reads = self.rng.chance(500);
        let ends = self
            .rng
            .pick(&[Ending::Stays, Ending::Finishes, Ending::Resets]);
        let stranger = Stranger {
            from,
            to: self.nodes[node].own.address,
            says,
            gap,
            reads,
            ends,
        };
        self.admit_stranger(node, &stranger);
    }

    /// Connects a stranger that sends nothing and stays connected.
    pub(super) fn connect_idle_stranger(&mut self, node: usize) {
        let stranger = Stranger {
            from: stranger(),
            to: self.nodes[node].own.address,
            says: Vec::new(),
            gap: US,
            reads: false,
            ends: Ending::Stays,
        };
        self.admit_stranger(node, &stranger);
    }

    /// Sends a message to a node in the name of another node.
    pub(super) fn send_forged_message(&mut self, node: usize) {
        let as_node = self.rng.index(self.len());
        let (id, from) = {
            let own = &self.nodes[as_node].own;
            (own.id, own.address)
        };
        let other = self.rng.index(self.len());
        let other = self.nodes[other].own.id;
        if self.rng.chance(600) {
            let message = match self.rng.below(6) {
                0 => Message::Join,
                1 => Message::SuccessorRequest,
                2 => Message::Successor {
                    successor_id: other,
                },
                3 => ballot(Election::Bully),
                4 => ballot(Election::BullyOk),
                _ => ballot(Election::Coordinator {
                    method: Method::Bully,
                    coordinator_id: id,
                }),
            };
            let to = self.nodes[node].own.address;
            return self.inject(from, to, encode(id, message).into());
        }
        let successor_id = self.nodes[node].own.id;
        let says = self.forged_stream(id, successor_id, other);
        self.nodes[node].own.process.forged_at = Some(self.now);
        self.connect_from(from, node, says);
    }

    /// Returns the bytes of a predecessor that sends the token, an election or an acknowledgement. An election names
    /// the node `other`.
    pub(super) fn forged_stream(&mut self, id: u32, successor_id: u32, other: u32) -> Vec<u8> {
        let mut says = encode(id, Message::Successor { successor_id });
        let ids = [U32::new(other), U32::new(id)];
        let sequence = self.draw_sequence();
        let message = match self.rng.below(6) {
            0 => ballot(Election::RingBased { ids: &ids[..1] }),
            1 => ballot(Election::RingBased { ids: &ids }),
            2 => ballot(Election::ChangRoberts { candidate: other }),
            3 => ballot(Election::Coordinator {
                method: self.rng.pick(&[Method::RingBased, Method::ChangRoberts]),
                coordinator_id: other,
            }),
            4 => Message::TokenAck { sequence },
            _ => Message::Token { sequence },
        };
        says.extend(encode(id, message));
        says
    }

    /// Returns a sequence near the existing sequences, or near the last sequence of a term.
    pub(super) fn draw_sequence(&mut self) -> u64 {
        let at = self.rng.index(self.len());
        let held = self.nodes[at].own.process.highest;
        let near = self.rng.pick(&[1, 10, 1 << 16, 1 << 17, 1 << 32]);
        let step = self.rng.between(0, near);
        match self.rng.below(10) {
            0..3 => held.saturating_sub(step),
            // This is one of the last sequences of its term.
            3 => held | (u64::from(u32::MAX) - self.rng.below(20)),
            _ => held + step,
        }
    }
}

pub(super) const fn ballot(election: Election<'_>) -> Message<'_> {
    Message::CoordinatorElection { election }
}

pub(super) fn encode(src_id: u32, message: Message<'_>) -> Vec<u8> {
    let frame = Frame { src_id, message };
    let mut bytes = vec![0; frame.encoded_len()];
    // The buffer has the length of the frame, and no frame here is too long.
    let _ = frame.encode(&mut bytes);
    bytes
}
