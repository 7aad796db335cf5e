//! Datagrams and connections with which an attacker breaks a segment without keys.

use ring_codec::jitterbug::Message;

use super::notation::broadcast;
use super::stranger::{encode, token, tr1};
use super::system::{JitterbugSystem, World};
use crate::kernel::streams::Side;
use crate::kernel::system;

/// The possible differences between the id of a forged token and the id of a node's token.
const STEPS: [u32; 3] = [0, 1, 100_000];

impl World {
    /// Forges the announcement of a token in the name of a node. The id of the forged token is the id of a node's
    /// token, or a larger id.
    pub(super) fn forge(
        &mut self,
        _: &system::Message<JitterbugSystem>,
    ) -> system::Message<JitterbugSystem> {
        let mut draw = || self.rng.index(self.nodes.len());
        let (author, owner, receiver) = (draw(), draw(), draw());
        let step = self.rng.pick(&STEPS);
        let id = self.nodes[owner].own.id.saturating_add(step);
        let own = &self.nodes[author].own;
        let (bytes, to) = match self.rng.below(3) {
            0 => (tr1(id, own.tcp_port, true, None), broadcast()),
            1 => (tr1(id, own.tcp_port, false, None), broadcast()),
            _ => {
                let tr2 = Message::Tr2 {
                    token_id: token(id, true),
                    terms: None,
                };
                (encode(&tr2), self.nodes[receiver].own.address())
            }
        };
        system::Message::<JitterbugSystem> {
            node: None,
            from: own.address(),
            to,
            bytes: bytes.into(),
        }
    }

    /// Forges a pass to the second node, with a node's token or with a token that has a larger id. If the attacker
    /// accepts the connection, forges the answer of a candidate that has the giver's list.
    pub(super) fn forge_stream(&mut self, [_, to]: [usize; 2], side: Side) -> Vec<u8> {
        if side == 1 {
            return encode(&Message::Tp3);
        }
        let owner = self.rng.index(self.nodes.len());
        let step = self.rng.pick(&STEPS);
        let id = self.nodes[owner].own.id.saturating_add(step);
        self.forged_pass(to, id).unwrap_or_default()
    }
}
