//! Nodes, and an attacker that delivers recorded messages at any time, in any order and to any node.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use ring_trust::{Authenticator, Destination, Keyring, NONCE_LEN, Origin, PseudoHeader, Verdict};

/// Maximum time from the signing of a message to its delivery, in milliseconds.
const MESSAGE_AGE_MAX_MS: u64 = 500;
/// Maximum time from the creation of a nonce to the arrival of its answer, in milliseconds.
const NONCE_LIFETIME_MS: u64 = 200;
const PAYLOAD_LEN: usize = 20;
/// Distance of the field `kind` from the end of a message, and its value in an answer.
const KIND_FROM_END: usize = 21;
const ANSWER: u8 = 2;
/// Number of nodes of a random attack.
const NODES: usize = 3;

/// A step of the nodes or of the attacker.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A node signs a message to another node. The attacker gets it instead.
    Send {
        /// Sender.
        from: usize,
        /// Receiver.
        to: usize,
    },
    /// A node ends and starts again.
    Restart(usize),
    /// Time passes, in milliseconds.
    Wait(u64),
    /// The attacker delivers a recorded message to its receiver.
    Deliver(usize),
    /// The attacker delivers a recorded message with a changed bit.
    Forge(usize, usize),
    /// The attacker delivers a recorded message to any node, with any address of a sender.
    Misdeliver {
        /// The recorded message.
        record: usize,
        /// Address of the sender.
        from: usize,
        /// Receiver.
        to: usize,
    },
}

/// The role of a recorded message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Message,
    /// A challenge with this nonce.
    Challenge([u8; NONCE_LEN]),
    /// An answer with this nonce.
    Answer([u8; NONCE_LEN]),
}

/// A message that the attacker recorded.
#[cfg_attr(test, derive(Clone))]
struct Recorded {
    sender: usize,
    receiver: usize,
    boot: u32,
    signed_at: u64,
    bytes: Vec<u8>,
    role: Role,
    is_delivered: bool,
}

/// The knowledge of a node about another node.
#[derive(Clone, Copy, Default)]
struct Acquaintance {
    /// The latest boot of the other node from which this node has delivered a message.
    delivered_boot: u32,
    /// The last recorded answer that this node accepted.
    answer: Option<usize>,
}

#[cfg_attr(test, derive(Clone))]
struct Node {
    authenticator: Authenticator<usize>,
    /// Number of starts.
    boot: u32,
    known: Vec<Acquaintance>,
}

impl Node {
    fn start(at: usize, boot: u32, nodes: usize) -> Self {
        Self {
            authenticator: authenticator(at, boot),
            boot,
            known: vec![Acquaintance::default(); nodes],
        }
    }
}

/// The nodes, the attacker's recordings, and the checks of each delivery.
#[cfg_attr(test, derive(Clone))]
pub(super) struct World {
    now: u64,
    nodes: Vec<Node>,
    recorded: Vec<Recorded>,
}

impl World {
    /// Makes nodes that do not know each other.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            now: 1000,
            nodes: (0..nodes).map(|at| Node::start(at, 1, nodes)).collect(),
            recorded: Vec::new(),
        }
    }

    /// Returns the sender and the receiver of each recorded message.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only the test of all orders needs it")
    )]
    pub(super) fn recorded(&self) -> impl ExactSizeIterator<Item = (usize, usize)> {
        let messages = self.recorded.iter();
        messages.map(|message| (message.sender, message.receiver))
    }

    /// Makes the steps that the input describes, three bytes per step. Then lets the nodes settle.
    pub(super) fn run(input: &[u8]) -> Result<(), &'static str> {
        let mut world = Self::new(NODES);
        let (steps, _) = input.as_chunks();
        for &[kind, choice, detail] in steps {
            if let Some(step) = world.draw(kind, choice.into(), detail.into()) {
                world.step(step)?;
            }
        }
        world.settle()
    }

    fn draw(&self, kind: u8, choice: usize, detail: usize) -> Option<Step> {
        let (records, nodes) = (self.recorded.len(), self.nodes.len());
        // The sender and the receiver must be different nodes.
        let from = detail % nodes;
        let to = (from + 1 + detail / nodes % (nodes - 1)) % nodes;
        Some(match kind % 32 {
            0..8 => Step::Send { from, to },
            8 => Step::Restart(choice % nodes),
            9..12 => Step::Wait([1, 20, 150, 501][choice % 4]),
            12 => Step::Wait([10_000, 59_900, 1 << 32][choice % 3]),
            _ if records == 0 => return None,
            13 | 14 => {
                let record = records - 1 - choice % records.min(16);
                // Mostly change the trailer, because it matters more than the payload.
                let len = self.recorded[record].bytes.len();
                let bit = 8 * (len - 1) - detail * 8 / 5 % (8 * len - 8) + choice % 8;
                Step::Forge(record, bit)
            }
            15 | 16 => Step::Misdeliver {
                record: records - 1 - choice % records.min(8),
                from,
                to,
            },
            // Mostly deliver recent messages.
            17..27 => Step::Deliver(records - 1 - choice % records.min(4)),
            _ => Step::Deliver(choice % records),
        })
    }

    /// Makes a step. Returns an error if a node delivers a message that it must not deliver.
    pub(super) fn step(&mut self, step: Step) -> Result<(), &'static str> {
        match step {
            Step::Send { from, to } => self.send(from, to),
            Step::Restart(at) => {
                let boot = self.nodes[at].boot + 1;
                self.nodes[at] = Node::start(at, boot, self.nodes.len());
            }
            Step::Wait(millis) => self.now += millis,
            Step::Deliver(record) => {
                let Recorded {
                    sender, receiver, ..
                } = self.recorded[record];
                return self.deliver(record, sender, receiver);
            }
            Step::Misdeliver { record, from, to } => return self.deliver(record, from, to),
            Step::Forge(record, bit) => {
                let Recorded {
                    sender,
                    receiver,
                    ref bytes,
                    ..
                } = self.recorded[record];
                let mut bytes = bytes.clone();
                let bit = bit % (8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
                match self.open(sender, receiver, &bytes) {
                    Verdict::Drop(_) => {}
                    Verdict::Deliver { .. } => return Err("a node delivered a forged message"),
                    Verdict::Consume => return Err("a node took a forged challenge or answer"),
                }
            }
        }
        Ok(())
    }

    /// Checks that each node accepts the messages of each other node as soon as the attacker stops.
    pub(super) fn settle(&mut self) -> Result<(), &'static str> {
        self.step(Step::Wait(MESSAGE_AGE_MAX_MS))?;
        let nodes = 0..self.nodes.len();
        let pairs = nodes
            .clone()
            .flat_map(|from| nodes.clone().map(move |to| (from, to)));
        let pairs: Vec<_> = pairs.filter(|(from, to)| from != to).collect();
        for &(from, to) in &pairs {
            let mut next = self.recorded.len();
            self.send(from, to);
            while next < self.recorded.len() {
                self.step(Step::Deliver(next))?;
                next += 1;
            }
        }
        for (from, to) in pairs {
            let record = self.recorded.len();
            self.send(from, to);
            self.step(Step::Deliver(record))?;
            if !self.recorded[record].is_delivered {
                return Err("a node does not deliver a message, although the attacker stopped");
            }
        }
        Ok(())
    }

    fn send(&mut self, from: usize, to: usize) {
        let mut buffer = [0x5a; PAYLOAD_LEN + ring_trust::TRAILER_LEN];
        buffer[0] = u8::try_from(from).unwrap_or_default();
        let destination = Destination {
            header: header(from, to),
            client: None,
        };
        let authenticator = &mut self.nodes[from].authenticator;
        let now = Duration::from_millis(self.now);
        let len = authenticator.seal(now, &destination, &mut buffer, PAYLOAD_LEN);
        let bytes = &buffer[..len.unwrap_or_default()];
        self.record((from, to), bytes, Role::Message);
    }

    fn record(&mut self, (sender, receiver): (usize, usize), bytes: &[u8], role: Role) {
        self.recorded.push(Recorded {
            sender,
            receiver,
            boot: self.nodes[sender].boot,
            signed_at: self.now,
            bytes: bytes.to_vec(),
            role,
            is_delivered: false,
        });
    }

    /// Passes bytes to the node `to`, with the address of the sender `from`. Records the replies of the node.
    fn open(&mut self, from: usize, to: usize, bytes: &[u8]) -> Verdict {
        let now = Duration::from_millis(self.now);
        let origin = Origin {
            address: from,
            header: header(from, to),
            is_client: false,
        };
        let authenticator = &mut self.nodes[to].authenticator;
        let verdict = authenticator.open(now, Duration::ZERO, &origin, bytes);
        let mut buffer = [0; 100];
        loop {
            let authenticator = &mut self.nodes[to].authenticator;
            let reply =
                authenticator.poll_transmit(now, &mut buffer, |peer, _| (0, header(to, peer)));
            let Some((peer, len)) = reply else {
                return verdict;
            };
            let nonce = buffer.first_chunk().copied().unwrap_or_default();
            let role = match buffer[len - KIND_FROM_END] {
                ANSWER => Role::Answer(nonce),
                _ => Role::Challenge(nonce),
            };
            self.record((to, peer), &buffer[..len], role);
        }
    }

    fn deliver(&mut self, record: usize, from: usize, to: usize) -> Result<(), &'static str> {
        let bytes = self.recorded[record].bytes.clone();
        let verdict = self.open(from, to, &bytes);
        let is_from_there = {
            let Recorded {
                sender, receiver, ..
            } = self.recorded[record];
            (sender, receiver) == (from, to)
        };
        match verdict {
            Verdict::Drop(_) => Ok(()),
            _ if !is_from_there => Err("a node took a message of another node, or to another node"),
            Verdict::Consume => {
                self.on_consumed(record, from, to);
                Ok(())
            }
            Verdict::Deliver { len, .. } => self.check_delivery(record, from, to, len),
        }
    }

    /// Stores an answer that a node has accepted.
    fn on_consumed(&mut self, record: usize, from: usize, to: usize) {
        if let Role::Answer(_) = self.recorded[record].role {
            self.nodes[to].known[from].answer = Some(record);
        }
    }

    fn check_delivery(
        &mut self,
        record: usize,
        from: usize,
        to: usize,
        len: usize,
    ) -> Result<(), &'static str> {
        let answer = self.nodes[to].known[from].answer;
        let recorded = &self.recorded[record];
        if recorded.role != Role::Message || len != PAYLOAD_LEN {
            return Err("a node delivered bytes that are no message");
        }
        if recorded.is_delivered {
            return Err("a node delivered a message twice");
        }
        if self.now - recorded.signed_at > MESSAGE_AGE_MAX_MS {
            return Err("a node delivered a message that was signed long ago");
        }
        if recorded.boot < self.nodes[to].known[from].delivered_boot {
            return Err("a node delivered a message of an earlier boot");
        }
        let answer =
            answer.filter(|&answer| answer < record && self.recorded[answer].boot == recorded.boot);
        if !answer.is_some_and(|answer| self.answers_in_time(answer, to)) {
            return Err("a node delivered a message of a boot that is not proven");
        }
        self.nodes[to].known[from].delivered_boot = recorded.boot;
        self.recorded[record].is_delivered = true;
        Ok(())
    }

    /// Whether an answer contains a nonce that the present boot of the node `to` created a short time ago.
    fn answers_in_time(&self, answer: usize, to: usize) -> bool {
        let (challenges, rest) = self.recorded.split_at(answer);
        let answer = &rest[0];
        let Role::Answer(nonce) = answer.role else {
            return false;
        };
        let challenge = Role::Challenge(nonce);
        let first = challenges.iter().find(|it| it.role == challenge);
        first.is_some_and(|first| {
            (first.sender, first.receiver, first.boot) == (to, answer.sender, self.nodes[to].boot)
                && answer.signed_at - first.signed_at < NONCE_LIFETIME_MS
        })
    }
}

/// Returns the addresses of a message, as in a datagram.
fn header(from: usize, to: usize) -> PseudoHeader {
    let address = |at: usize| {
        let port = 1000 + u16::try_from(at).unwrap_or_default();
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    };
    PseudoHeader::new(address(from), address(to))
}

fn authenticator(at: usize, boot: u32) -> Authenticator<usize> {
    let text = "7 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let keyring = Keyring::parse(text).expect("a legal key");
    let mut seed = [u8::try_from(at).unwrap_or_default(); 32];
    seed[1..5].copy_from_slice(&boot.to_be_bytes());
    Authenticator::new(&keyring, false, seed)
}
