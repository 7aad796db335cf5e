//! Datagrams and connections with which an attacker pretends to be a node.

use ring_codec::andrews::{Election, Message, Method};

use super::stranger::{ballot, encode};
use super::system::{AndrewsSystem, World};
use crate::kernel::streams::Side;
use crate::kernel::system;

impl World {
    /// Forges a datagram in the name of a node; the datagram is about another node.
    pub(super) fn forge(
        &mut self,
        _: &system::Message<AndrewsSystem>,
    ) -> system::Message<AndrewsSystem> {
        let mut draw = || self.rng.index(self.nodes.len());
        let (author, other, receiver) = (draw(), draw(), draw());
        let other = self.nodes[other].own.id;
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
                coordinator_id: other,
            }),
        };
        let own = &self.nodes[author].own;
        system::Message::<AndrewsSystem> {
            node: None,
            from: own.address,
            to: self.nodes[receiver].own.address,
            bytes: encode(own.id, message).into(),
        }
    }

    /// Forges the bytes of one end of a connection from the first node to its successor, the second node. The
    /// connecting end sends the token, an election or an acknowledgement, and the accepting end sends an
    /// acknowledgement.
    pub(super) fn forge_stream(&mut self, [from, to]: [usize; 2], side: Side) -> Vec<u8> {
        let other = self.rng.index(self.nodes.len());
        let [from, to, other] = [from, to, other].map(|at| self.nodes[at].own.id);
        if side == 0 {
            return self.forged_stream(from, to, other);
        }
        let sequence = self.draw_sequence();
        encode(to, Message::TokenAck { sequence })
    }
}
