//! The keys of the nodes. A node with keys signs its messages, and verifies the messages of others.

use std::fmt::Write as _;

use ring_runtime::driver::{Signer, TransmitBatch};
use ring_trust::{Authenticator, Keyring, StreamKeys, TRAILER_LEN};
use serde::{Deserialize, Serialize};

use super::kinds::FaultEffect;
use super::node::Node;
use super::rng::Rng;
use super::simulation::{Simulation, TRANSMIT_BATCH};
use super::streams::Carrier;
use super::system::System;

/// The keys in the configuration of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeKeys {
    /// The ids of the keys. The first key signs. A node without keys neither signs nor verifies.
    pub ids: Vec<u32>,
    /// Whether the node also accepts unsigned messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsigned: bool,
}

impl NodeKeys {
    /// Whether the node neither signs nor verifies.
    pub const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Checks that the ids are legal.
    ///
    /// # Errors
    /// Returns the reason if a key file with these ids is not legal.
    pub fn check(&self) -> Result<(), String> {
        match self.keyring() {
            None if !self.is_empty() => Err(format!("illegal ids of keys: {:?}", self.ids)),
            _ => Ok(()),
        }
    }

    /// Returns the keys; `None` without keys.
    fn keyring(&self) -> Option<Keyring> {
        let lines = self.ids.iter().fold(String::new(), |mut text, id| {
            let _ = writeln!(text, "{}", key_line(*id));
            text
        });
        Keyring::parse(&lines).ok()
    }

    /// Returns the keys in one round of the documented procedure: first the nodes get a key, and then they require
    /// signatures. Each later change of the key has three rounds.
    fn of_round(round: u32) -> Self {
        let key = |number: u32| 1 + number;
        let (old, new) = (key(round.saturating_sub(2) / 3), key(round / 3));
        let (ids, unsigned) = match round {
            0 => (vec![], false),
            1 => (vec![key(0)], true),
            _ => match (round - 2) % 3 {
                0 => (vec![old], false),
                1 => (vec![old, new], false),
                _ => (vec![new, old], false),
            },
        };
        Self { ids, unsigned }
    }
}

/// Returns the line of a key file with the key of this id.
pub(crate) fn key_line(id: u32) -> String {
    format!("{id} {id:064x}")
}

/// The first round in which all nodes require signatures.
const REQUIRED_ROUND: u32 = 2;
/// The last round in which a run may begin.
const LAST_FIRST_ROUND: u32 = 5;
const SECOND_US: u64 = 1_000_000;

/// The keys of a run.
#[derive(Debug, Default)]
pub(crate) struct KeyPlan {
    /// The keys of all nodes at the start.
    pub(crate) first: NodeKeys,
    /// The changes: the time in microseconds, the node, and its new keys.
    pub(crate) changes: Vec<(u64, usize, NodeKeys)>,
}

impl KeyPlan {
    /// Draws the keys of a run. If there is an attacker, all nodes require signatures from the start. If `changes` is
    /// `true`, the nodes go through the documented rounds, one node after another. Each round begins when all nodes
    /// have finished the previous round. `time` is in microseconds.
    pub(crate) fn draw(
        rng: &mut Rng,
        (nodes, time): (usize, u64),
        is_attacked: bool,
        changes: bool,
    ) -> Self {
        let least = if is_attacked { REQUIRED_ROUND } else { 0 };
        let mut round = least + u32::try_from(rng.index(4)).unwrap_or(0);
        round = round.min(LAST_FIRST_ROUND);
        let mut plan = Self {
            first: NodeKeys::of_round(round),
            changes: Vec::new(),
        };
        if !changes {
            return plan;
        }
        let pause = rng.pick(&[SECOND_US / 10, SECOND_US, 4 * SECOND_US]);
        let mut at = rng.below(2 * pause);
        while at < time {
            round += 1;
            let lasts = rng.pick(&[SECOND_US / 1_000, SECOND_US / 10, 2 * SECOND_US]);
            for node in 0..nodes {
                let at = at + rng.below(lasts);
                plan.changes.push((at, node, NodeKeys::of_round(round)));
            }
            at += lasts + rng.below(2 * pause);
        }
        plan.changes.retain(|&(at, ..)| at < time);
        plan
    }
}

impl<S: System> Node<S> {
    /// Returns the number of bytes that each message needs for its signature.
    pub(crate) fn signature_len(&self) -> usize {
        self.signer.as_ref().map_or(0, |_| TRAILER_LEN)
    }
}

impl<S: System> Simulation<S> {
    /// Gives all nodes the same keys before they start.
    pub(crate) fn set_first_keys(&mut self, keys: &NodeKeys) {
        for node in &mut self.nodes {
            node.keys.clone_from(keys);
        }
    }

    /// Changes the keys of a node, as a reload of its configuration does. A dead process gets the keys when it starts.
    /// Returns whether the node has begun to sign, or has stopped signing.
    pub(crate) fn set_keys(&mut self, at: usize, keys: &NodeKeys) -> bool {
        self.count_effect(FaultEffect::Keys);
        let node = &mut self.nodes[at];
        node.keys.clone_from(keys);
        if node.driver.is_none() {
            return false;
        }
        let before = node.signature_len();
        match (keys.keyring(), &mut node.signer) {
            (Some(keyring), Some(signer)) => {
                let authenticator = signer.authenticator_mut();
                authenticator.set_keyring(&keyring, keys.unsigned);
                S::set_signature_options(&node.own, authenticator);
                self.set_stream_keys(at);
            }
            _ => self.renew_signer(at),
        }
        self.nodes[at].signature_len() != before
    }

    /// Gives the keys of a node to its connections.
    fn set_stream_keys(&mut self, at: usize) {
        let Node { keys, streams, .. } = &mut self.nodes[at];
        if let Some(streams) = streams {
            streams.set_keys(match keys.keyring() {
                Some(keyring) => StreamKeys::new(&keyring, keys.unsigned),
                None => StreamKeys::none(),
            });
        }
    }

    /// Makes the signer of a new process, or of a process that has got its first keys.
    pub(super) fn renew_signer(&mut self, at: usize) {
        self.set_stream_keys(at);
        let keys = &self.nodes[at].keys;
        let Some(keyring) = keys.keyring() else {
            self.nodes[at].signer = None;
            return;
        };
        let mut seed = [0; 32];
        for part in seed.as_chunks_mut().0 {
            *part = self.rng.draw().to_be_bytes();
        }
        let mut authenticator = Authenticator::new(&keyring, keys.unsigned, seed);
        let own = &self.nodes[at].own;
        S::set_signature_options(own, &mut authenticator);
        let addressing = S::addressing(at, own);
        let transmit = TransmitBatch::of(TRANSMIT_BATCH, S::MESSAGE_LEN_MAX + TRAILER_LEN);
        self.nodes[at].signer = Some(Signer::new(authenticator, addressing, transmit));
    }
}

#[cfg(test)]
mod tests {
    use super::NodeKeys;

    #[test]
    fn each_round_accepts_the_messages_of_the_rounds_next_to_it() {
        let rounds: Vec<_> = (0..12).map(NodeKeys::of_round).collect();
        assert!(rounds[0].is_empty() && rounds[1].unsigned);
        for pair in rounds[1..].windows(2) {
            for (signs, verifies) in [(0, 1), (1, 0)] {
                let id = pair[signs].ids[0];
                assert!(pair[verifies].ids.contains(&id), "{pair:?}");
            }
            assert_ne!(pair[0], pair[1]);
            assert!(pair.iter().all(|keys| keys.check().is_ok()));
        }
        assert_eq!(rounds[11].ids, [4]);
    }
}
