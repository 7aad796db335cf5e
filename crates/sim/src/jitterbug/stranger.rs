//! The datagrams and connections of strangers, which are not nodes.

use std::net::{IpAddr, SocketAddr};

use ring_codec::jitterbug::{Message, Node, Terms, TokenId};
use ring_proto::jitterbug::{LEASE_MAX, LEASE_MIN, State};

use super::data;
use super::events::STRANGER;
use super::notation::{PORT, STRANGERS, broadcast, stranger_address};
use super::schedule::ForgedId;
use super::system::World;
use crate::kernel::stranger::{Ending, Stranger};

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
/// The port that a stranger announces.
const STRANGE_PORT: u16 = 9;

impl World {
    /// Broadcasts a datagram of a stranger. The datagram is malformed, or only makes nodes add its sender to their
    /// lists.
    pub(super) fn send_strange_datagram(&mut self, node: usize) {
        let from = self.draw_source(node);
        let mut bytes = match self.rng.below(8) {
            0 => self.tr1(STRANGE_PORT, false),
            1 => self.tr1(0, false),
            2 => encode(&Message::Tp2),
            3 => encode(&Message::Tp1 {
                token_id: token(self.draw_id(), true),
                node_list_hash: 1,
            }),
            4 => vec![0x01, 0, 0, 0, 0, 0, 9],
            5 => vec![0x11, 0x80, 0, 0, 0],
            6 => {
                let len = self.rng.index(20);
                (0..len).map(|_| self.rng.draw().to_be_bytes()[0]).collect()
            }
            _ => {
                let mut bytes = self.tr1(STRANGE_PORT, true);
                bytes.push(0);
                bytes
            }
        };
        if self.rng.chance(300) {
            bytes.truncate(self.rng.index(bytes.len()));
        }
        let is_tr = matches!(Message::decode_datagram(&bytes), Ok(Message::Tr1 { .. }));
        // A valid datagram comes from a stranger's address. With a node's address, the datagram would announce a wrong
        // port for that node, and the node would miss its tenures.
        let from = if is_tr { self.stranger() } else { from };
        self.inject(from, broadcast(), bytes.into());
    }

    /// Draws a source address, which belongs to a stranger, to a node, or to a host outside the segment.
    fn draw_source(&mut self, node: usize) -> SocketAddr {
        match self.rng.below(4) {
            0 => self.nodes[node].own.address(),
            1 => SocketAddr::from(([10, 1, 0, 1], PORT)),
            2 => SocketAddr::from(([10, 0, 255, 255], PORT)),
            _ => self.stranger(),
        }
    }

    fn stranger(&mut self) -> SocketAddr {
        let number = self.rng.index(STRANGERS);
        SocketAddr::new(stranger_address(number), PORT)
    }

    /// Returns a TR1 with the id of a node's token.
    fn tr1(&mut self, port: u16, leads: bool) -> Vec<u8> {
        let id = self.draw_id();
        let terms = self.terms(id);
        tr1(id, port, leads, terms)
    }

    /// Returns the bytes of a TP6, or no bytes.
    fn offered_terms(&mut self, id: u32) -> Vec<u8> {
        let terms = self.terms(id);
        terms.map_or_else(Vec::new, |terms| encode(&Message::Tp6 { terms }))
    }

    /// Returns invented terms for a token with this id, or no terms.
    fn terms(&mut self, id: u32) -> Option<Terms> {
        if self.rng.chance(400) {
            return None;
        }
        let lease_us = self.draw_lease();
        let follows = if self.rng.chance(500) {
            self.draw_id()
        } else {
            0
        };
        let policy = if self.rng.chance(800) {
            self.system.options.policy
        } else {
            self.rng.draw()
        };
        let terms = Terms {
            lease_us,
            shortest_us: self.draw_lease().min(lease_us),
            longest_us: self.draw_lease().max(lease_us),
            renew_ms: self.rng.pick(&[0, 2_000, u32::MAX]),
            pass_ms: self.rng.pick(&[0, 500, u32::MAX]),
            follows,
            policy,
            is_followed: self.rng.chance(300),
            asks: self.rng.chance(200),
        };
        let checks = &mut self.system.checks;
        checks.exemptions.has_long_lease |= micros(LEASE_MAX) == terms.longest_us;
        // Without other information, the nodes believe these terms.
        checks.tokens.on_held(follows, STRANGER);
        if terms.is_followed {
            checks.tokens.on_held(id, STRANGER);
        }
        Some(terms)
    }

    /// Draws a lease. Most of the drawn leases have a length that no node may use.
    fn draw_lease(&mut self) -> u32 {
        if self.rng.chance(30) {
            return micros(LEASE_MAX);
        }
        let least = micros(LEASE_MIN);
        self.rng
            .pick(&[0, 1, 1_000, least - 1, u32::MAX, least, least, 60_000])
    }

    /// Returns the id of a node's token, in most cases of the leader's token.
    fn draw_id(&mut self) -> u32 {
        let leaders = self.nodes.iter().map(|node| &node.own);
        let leaders = leaders.filter(|own| own.state == State::Leader && own.id > 0);
        let leader = leaders.map(|own| own.id).next();
        let at = self.rng.index(self.nodes.len());
        leader.unwrap_or(self.nodes[at].own.id).max(1)
    }

    fn forged_id(&mut self, claim: ForgedId) -> u32 {
        let id = self.draw_id();
        let step = u32::try_from(self.rng.between(1, 100_000)).unwrap_or(1);
        let most = i32::MAX.unsigned_abs();
        match claim {
            ForgedId::Same => id,
            ForgedId::Below => id.saturating_sub(step).max(1),
            ForgedId::Above => id.saturating_add(step).min(most),
            ForgedId::Largest => most,
        }
    }

    /// Announces a token of a stranger to all nodes. The announcement has the name of the stranger or of a node.
    pub(super) fn announce_forged_token(&mut self, claim: ForgedId) {
        let id = self.forged_id(claim);
        let terms = self.terms(id);
        if terms.is_none() {
            // Without terms, the token with the larger id is stronger, and its followers do not matter.
            self.system.checks.tokens.on_held(id, STRANGER);
        }
        let from = self.stranger();
        let at = self.rng.index(self.nodes.len());
        let own = &self.nodes[at].own;
        let (from, port) = if self.rng.chance(300) {
            (own.address(), own.tcp_port)
        } else {
            (from, STRANGE_PORT)
        };
        let bytes = if self.rng.chance(200) {
            encode(&Message::Tr2 {
                token_id: token(id, true),
                terms,
            })
        } else {
            tr1(id, port, true, terms)
        };
        self.inject(from, broadcast(), bytes.into());
    }

    pub(super) fn give_forged_token(&mut self, node: usize, claim: ForgedId) {
        let id = self.forged_id(claim);
        let Some(pass) = self.forged_pass(node, id) else {
            return;
        };
        let mut says = self.offered_terms(id);
        says.extend(pass);
        self.admit(node, says, US, true, Ending::Finishes);
    }

    /// Returns the bytes with which a giver passes a token to a node; `None` if the node is dead.
    pub(super) fn forged_pass(&mut self, node: usize, id: u32) -> Option<Vec<u8>> {
        let node_list_hash = self.machine(node)?.snapshot().node_list_hash;
        let number = self.rng.below(1_000);
        let data = if self.system.data.computes {
            data::of(1 + number, self.system.data.padding)
        } else {
            number.to_string().into_bytes()
        };
        let token_id = token(id, true);
        let mut says = encode(&Message::Tp1 {
            token_id,
            node_list_hash,
        });
        says.extend(encode(&Message::Tp5 {
            token_id,
            data: &data,
        }));
        Some(says)
    }

    /// Connects a stranger that does not follow the protocol of a giver.
    pub(super) fn connect_stranger(&mut self, node: usize) {
        let id = self.draw_id();
        let leads = !self.rng.chance(200);
        let offer = encode(&Message::Tp1 {
            token_id: token(id, leads),
            node_list_hash: i32::from(self.rng.draw().to_be_bytes()[0]),
        });
        let mut says = self.offered_terms(id);
        if self.rng.chance(800) {
            says.extend(offer);
        }
        says.extend(match self.rng.below(6) {
            0 => Vec::new(),
            1 => encode(&Message::Tp5 {
                token_id: token(id, true),
                data: b"1",
            }),
            2 => self.list(),
            3 => vec![0x51, 0xff, 0xff, 0xff, 0xff],
            4 => vec![0x21; 9],
            _ => (0..9).map(|_| self.rng.draw().to_be_bytes()[0]).collect(),
        });
        if self.rng.chance(300) {
            says.truncate(self.rng.index(says.len()));
        }
        let gap = self.rng.pick(&[US, MS, 20 * MS]);
        let reads = self.rng.chance(500);
        let ends = self
            .rng
            .pick(&[Ending::Stays, Ending::Finishes, Ending::Resets]);
        self.admit(node, says, gap, reads, ends);
    }

    /// Returns a list with a hash that was not announced, or with invalid entries.
    fn list(&mut self) -> Vec<u8> {
        let entry = |ip: [u8; 4], port| Node {
            ip: IpAddr::from(ip),
            port,
        };
        let last = self.rng.pick(&[1, 77]);
        let port = self.rng.pick(&[0, 7]);
        let first = self.rng.pick(&[0, 10, 127, 224]);
        let nodes = [entry([10, 0, 0, 1], 7), entry([first, 0, 0, last], port)];
        encode(&Message::Tp4 {
            node_list: nodes[..].into(),
        })
    }

    /// Connects a stranger that sends few bytes or nothing, and stays connected.
    pub(super) fn connect_idle_stranger(&mut self, node: usize) {
        let says = if self.rng.chance(500) {
            encode(&Message::Tp1 {
                token_id: token(self.draw_id(), true),
                node_list_hash: 7,
            })
        } else {
            Vec::new()
        };
        self.admit(node, says, US, false, Ending::Stays);
    }

    fn admit(&mut self, node: usize, says: Vec<u8>, gap: u64, reads: bool, ends: Ending) {
        let stranger = Stranger {
            from: self.stranger(),
            to: self.nodes[node].own.listener(),
            says,
            gap,
            reads,
            ends,
        };
        self.admit_stranger(node, &stranger);
    }
}

/// Returns the token id for this number, which is limited to 31 bits and at least 1.
pub(super) fn token(id: u32, leads: bool) -> TokenId {
    let most = i32::MAX.unsigned_abs();
    TokenId::new(id.clamp(1, most), leads).expect("1 to 2^31 - 1 is within 31 bits")
}

fn micros(time: std::time::Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

pub(super) fn tr1(id: u32, port: u16, leads: bool, terms: Option<Terms>) -> Vec<u8> {
    encode(&Message::Tr1 {
        token_id: token(id, leads),
        node_tcp_port: port,
        terms,
    })
}

pub(super) fn encode(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = vec![0; message.encoded_len()];
    // The buffer has the length of the message, and no list is too long.
    let _ = message.encode(&mut bytes);
    bytes
}
