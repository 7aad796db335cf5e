//! The attacker as a client: it has the key of a client, which permits only one name.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::List;
use ring_codec::ftn::{Access, Datagram, Flags, Header, Message, Token};
use ring_proto::ftn::catalog::{HoldKind, Marker};
use ring_trust::{
    Authenticator, Destination, Keyring, NONCE_LEN, Origin, PseudoHeader, TRAILER_LEN, Verdict,
    len_without_trailer,
};

use super::client_keys::{ATTACKER_KEY, ATTACKER_NAME};
use super::notation::{attacker_address, node_of, server_address};
use super::system::{FtnSystem, World};
use crate::kernel::keys::key_line;
use crate::kernel::queue::Bytes;
use crate::kernel::signed_link::handshake_name;
use crate::kernel::system;

/// The names in the messages of the attacker. Its key permits only the first name.
const NAMES: [&[u8]; 4] = [ATTACKER_NAME.as_bytes(), b"t0", b"t0", b"t1"];

/// The attacker's signatures, and its session.
pub(super) struct AttackingClient {
    authenticator: Authenticator<SocketAddr>,
    /// The session at the attacker's address; 0 without a session.
    session: i32,
}

impl fmt::Debug for AttackingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("AttackingClient");
        debug
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl AttackingClient {
    /// Makes an attacker without a session.
    pub(super) fn new() -> Option<Self> {
        let keyring = Keyring::parse(&key_line(ATTACKER_KEY)).ok()?;
        Some(Self {
            authenticator: Authenticator::new(&keyring, false, [7; 32]),
            session: 0,
        })
    }

    /// Signs a message as if it came from an address.
    fn sign(
        &mut self,
        now: Duration,
        (from, to): (SocketAddr, SocketAddr),
        message: &[u8],
    ) -> Option<Bytes> {
        let mut bytes = message.to_vec();
        bytes.resize(message.len() + TRAILER_LEN, 0);
        let to = Destination {
            header: PseudoHeader::new(from, to),
            client: None,
        };
        let len = message.len();
        self.authenticator.seal(now, &to, &mut bytes, len)?;
        Some(bytes.into())
    }

    /// Reads a challenge to an address, or an answer. Returns the attacker's answers and challenges.
    fn read_handshake(
        &mut self,
        now: Duration,
        (from, to): (SocketAddr, SocketAddr),
        bytes: &[u8],
    ) -> Vec<Bytes> {
        let origin = Origin {
            address: from,
            header: PseudoHeader::new(from, to),
            is_client: false,
        };
        let verdict = self.authenticator.open(now, Duration::ZERO, &origin, bytes);
        let mut sent = Vec::new();
        if verdict == Verdict::Consume {
            let mut buffer = [0; NONCE_LEN + TRAILER_LEN];
            let header = |peer, _: &mut [u8]| (0, PseudoHeader::new(to, peer));
            while let Some((_, len)) = self.authenticator.poll_transmit(now, &mut buffer, header) {
                sent.push(buffer[..len].into());
            }
        }
        sent
    }
}

impl World {
    fn attacking_client(&mut self) -> Option<&mut AttackingClient> {
        let is_over = self.system.faults_have_ended;
        self.system.attacking_client.as_mut().filter(|_| !is_over)
    }

    /// Whether the attacker may use its key with an address. A server that knows no key of a client does not notice
    /// that another client uses the address of this client. `docs/reference/trust.md` does not promise this.
    fn may_forge(&self, from: SocketAddr, to: SocketAddr) -> bool {
        let servers = self.system.servers;
        let is_client = node_of(from, servers).is_some_and(|node| node >= servers);
        let Some(server) = node_of(to, servers).filter(|server| is_client && *server < servers)
        else {
            return true;
        };
        let node = &self.nodes[server];
        let now = Duration::from_nanos(node.clock.monotonic(self.now).as_nanos());
        node.signer.as_ref().is_none_or(|signer| {
            let mut peers = signer.authenticator().peers(now);
            peers.any(|peer| {
                let is_other = peer.key_id.is_some_and(|id| id.get() != ATTACKER_KEY);
                peer.address == from && peer.is_proven && is_other
            })
        })
    }

    /// Reads a message of a node: answers challenges, and answers messages to the attacker.
    pub(super) fn on_overheard(&mut self, message: &system::Message<FtnSystem>) {
        let (now, ends) = (self.now(), (message.from, message.to));
        if self.attacking_client().is_none() {
            return;
        }
        if handshake_name(&message.bytes).is_some() {
            if !self.may_forge(message.to, message.from) {
                return;
            }
            let client = self.attacking_client();
            let sent = client.map(|it| it.read_handshake(now, ends, &message.bytes));
            for bytes in sent.unwrap_or_default() {
                self.inject(message.to, message.from, bytes);
            }
        } else if message.to == attacker_address() {
            self.read_answer(message);
        }
    }

    fn read_answer(&mut self, message: &system::Message<FtnSystem>) {
        let len = len_without_trailer(&message.bytes).unwrap_or(0);
        let Ok(datagram) = Datagram::decode(&message.bytes[..len]) else {
            return;
        };
        let session = datagram.header().to;
        match datagram.message() {
            Message::Config { leader, .. } if session != 0 => {
                if let Some(client) = self.attacking_client() {
                    client.session = session;
                }
                self.claim_token(message.from, leader);
            }
            Message::Grant { .. } => self.system.stats.counters.attacker_grants += 1,
            _ => {}
        }
    }

    /// Answers the survey of a server: the attacker claims that it holds a token.
    fn claim_token(&mut self, server: SocketAddr, configuration: i64) {
        let marker = Marker {
            configuration: configuration.unsigned_abs(),
            part: 0,
            parts: 1,
            floor: 1,
        };
        let marker = marker.to_string();
        let name = self.rng.pick(&NAMES);
        let entries = [
            (&b""[..], marker.as_bytes()),
            (b"", HoldKind::Exclusive.name().as_bytes()),
            (name, b""),
        ];
        let holdings = entries.map(|(name, data)| Token { name, data });
        let holdings = List::from(&holdings[..]);
        if let Some(bytes) = self.encode_as_client(server, Message::Catalog { holdings }) {
            self.send_as_client(server, &bytes);
        }
    }

    /// Sends a message, or both halves of the message in parts.
    fn send_as_client(&mut self, to: SocketAddr, message: &[u8]) {
        if self.rng.chance(500) {
            return self.inject_as_client(to, message);
        }
        let middle = 1 + self.rng.index(message.len() - 1);
        let content = i64::try_from(self.now).unwrap_or(1);
        for (part, bytes) in [(0, &message[..middle]), (1, &message[middle..])] {
            let piece = Message::Part {
                content,
                part,
                parts: 2,
                bytes,
            };
            if let Some(bytes) = self.encode_as_client(to, piece) {
                self.inject_as_client(to, &bytes);
            }
        }
    }

    fn inject_as_client(&mut self, to: SocketAddr, message: &[u8]) {
        if let Some(bytes) = self.sign_as_client((attacker_address(), to), message) {
            self.inject(attacker_address(), to, bytes);
        }
    }

    /// Sends a datagram of the attacker's session. Also signs a forged datagram with the attacker's key; `None` without
    /// a key.
    pub(super) fn forge_as_client(
        &mut self,
        forged: &system::Message<FtnSystem>,
    ) -> Option<system::Message<FtnSystem>> {
        self.attacking_client()?;
        let server = server_address(self.rng.index(self.system.servers));
        if let Some(bytes) = self.draw_client_datagram(server) {
            self.send_as_client(server, &bytes);
        }
        let bytes = self.sign_as_client((forged.from, forged.to), &forged.bytes)?;
        Some(system::Message::<FtnSystem> {
            bytes,
            ..forged.clone()
        })
    }

    fn sign_as_client(&mut self, ends: (SocketAddr, SocketAddr), message: &[u8]) -> Option<Bytes> {
        let now = self.now();
        if !self.may_forge(ends.0, ends.1) {
            return None;
        }
        self.attacking_client()?.sign(now, ends, message)
    }

    /// Draws a datagram of the attacker's session.
    fn draw_client_datagram(&mut self, to: SocketAddr) -> Option<Vec<u8>> {
        let name = self.rng.pick(&NAMES);
        let token = Token { name, data: b"" };
        // Later messages of a client have larger numbers.
        let msgnum = i64::try_from(self.now / 1_000).unwrap_or(1);
        let message = match self.rng.below(8) {
            0 | 1 => Message::Login { p: b":7000" },
            2 => Message::Alive,
            3 | 4 => Message::Request {
                msgnum,
                token,
                access: Access::Exclusive,
            },
            5 | 6 => Message::Return {
                msgnum,
                token: Token { name, data: b"7" },
                flags: Flags::Both,
            },
            _ => Message::Logout,
        };
        self.encode_as_client(to, message)
    }

    /// Encodes a message of the attacker's session. Sometimes names the session of another client.
    fn encode_as_client(&mut self, to: SocketAddr, message: Message<'_>) -> Option<Vec<u8>> {
        let own = self.attacking_client()?.session;
        let is_login = matches!(message, Message::Login { .. });
        let other = self.rng.chance(100).then(|| self.draw_session());
        let datagram = Datagram::new(
            Header {
                from: if is_login { 0 } else { other.unwrap_or(own) },
                to: i32::try_from(node_of(to, self.system.servers)?).ok()?,
                ssig: self.system.process_options.as_ref()?.list.signature(),
            },
            message,
        );
        let mut bytes = vec![0; datagram.encoded_len()];
        datagram.encode(&mut bytes).ok()?;
        Some(bytes)
    }
}
