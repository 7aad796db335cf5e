//! Two nodes, and an attacker that delivers recorded messages at any time and in any order.

use std::time::Duration;

use ring_trust::{Authenticator, Destination, Keyring, Origin, PseudoHeader, Verdict};

/// Maximum time from the signing of a message to its delivery, in milliseconds.
const MESSAGE_AGE_MAX_MS: u64 = 500;
const PAYLOAD_LEN: usize = 20;

/// A step of the nodes or of the attacker.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A node signs a message. The attacker gets it instead of the other node.
    Send(usize),
    /// A node ends and starts again.
    Restart(usize),
    /// Time passes, in milliseconds.
    Wait(u64),
    /// The attacker delivers a recorded message to the other node.
    Deliver(usize),
    /// The attacker delivers a recorded message with a changed bit.
    Forge(usize, usize),
}

/// A message that the attacker recorded.
#[cfg_attr(test, derive(Clone))]
struct Recorded {
    sender: usize,
    boot: u32,
    signed_at: u64,
    bytes: Vec<u8>,
    is_message: bool,
    is_delivered: bool,
}

#[cfg_attr(test, derive(Clone))]
struct Node {
    authenticator: Authenticator<usize>,
    /// Number of starts.
    boot: u32,
    /// The latest boot of the other node of which this node delivered a message.
    delivered_boot: u32,
}

/// The nodes, the attacker's recordings, and the checks of each delivery.
#[cfg_attr(test, derive(Clone))]
pub(super) struct World {
    now: u64,
    nodes: [Node; 2],
    recorded: Vec<Recorded>,
}

impl World {
    /// Makes two nodes that do not know each other.
    pub(super) fn new() -> Self {
        let node = |at| Node {
            authenticator: authenticator(at, 1),
            boot: 1,
            delivered_boot: 0,
        };
        Self {
            now: 1000,
            nodes: [node(0), node(1)],
            recorded: Vec::new(),
        }
    }

    /// Returns the number of recorded messages.
    #[cfg(test)]
    pub(super) fn recorded_len(&self) -> usize {
        self.recorded.len()
    }

    /// Makes the steps that the input describes, three bytes per step. Then lets the nodes settle.
    pub(super) fn run(&mut self, input: &[u8]) -> Result<(), &'static str> {
        let (steps, _) = input.as_chunks();
        for &[kind, choice, bit] in steps {
            if let Some(step) = self.draw(kind, choice.into(), bit.into()) {
                self.step(step)?;
            }
        }
        self.settle()
    }

    fn draw(&self, kind: u8, choice: usize, bit: usize) -> Option<Step> {
        let records = self.recorded.len();
        Some(match kind % 32 {
            0..8 => Step::Send(choice % 2),
            8 => Step::Restart(choice % 2),
            9..12 => Step::Wait([1, 20, 150, 501][choice % 4]),
            12 => Step::Wait([10_000, 59_900, 1 << 32][choice % 3]),
            _ if records == 0 => return None,
            13 => Step::Forge(choice % records, bit),
            // The attacker mostly delivers recent messages.
            14..26 => Step::Deliver(records - 1 - choice % records.min(4)),
            _ => Step::Deliver(choice % records),
        })
    }

    /// Makes a step. Returns an error if a node delivers a message that it must not deliver.
    pub(super) fn step(&mut self, step: Step) -> Result<(), &'static str> {
        match step {
            Step::Send(at) => self.send(at),
            Step::Restart(at) => {
                let node = &mut self.nodes[at];
                node.boot += 1;
                node.authenticator = authenticator(at, node.boot);
            }
            Step::Wait(millis) => self.now += millis,
            Step::Deliver(record) => return self.deliver(record),
            Step::Forge(record, bit) => {
                let original = &self.recorded[record];
                let (sender, mut bytes) = (original.sender, original.bytes.clone());
                let bit = bit % (8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
                if let Verdict::Deliver { .. } = self.open(sender, &bytes) {
                    return Err("a node delivered a forged message");
                }
            }
        }
        Ok(())
    }

    /// Checks that the nodes understand each other as soon as the attacker stops.
    pub(super) fn settle(&mut self) -> Result<(), &'static str> {
        self.step(Step::Wait(MESSAGE_AGE_MAX_MS))?;
        for at in [0, 1] {
            let first = self.recorded.len();
            self.send(at);
            let mut next = first;
            while next < self.recorded.len() {
                self.deliver(next)?;
                next += 1;
            }
        }
        for at in [0, 1] {
            let record = self.recorded.len();
            self.send(at);
            self.deliver(record)?;
            if !self.recorded[record].is_delivered {
                return Err("a node does not deliver a message, although the attacker stopped");
            }
        }
        Ok(())
    }

    fn send(&mut self, at: usize) {
        let mut buffer = [0x5a; PAYLOAD_LEN + ring_trust::TRAILER_LEN];
        buffer[0] = u8::try_from(at).unwrap_or_default();
        let authenticator = &mut self.nodes[at].authenticator;
        let len = authenticator.seal(
            Duration::from_millis(self.now),
            &Destination::FRAME,
            &mut buffer,
            PAYLOAD_LEN,
        );
        self.record(at, &buffer[..len.unwrap_or_default()], true);
    }

    fn record(&mut self, sender: usize, bytes: &[u8], is_message: bool) {
        self.recorded.push(Recorded {
            sender,
            boot: self.nodes[sender].boot,
            signed_at: self.now,
            bytes: bytes.to_vec(),
            is_message,
            is_delivered: false,
        });
    }

    /// Gives bytes to the other node, and records its replies.
    fn open(&mut self, sender: usize, bytes: &[u8]) -> Verdict {
        let receiver = 1 - sender;
        let now = Duration::from_millis(self.now);
        let verdict = self.nodes[receiver].authenticator.open(
            now,
            Duration::ZERO,
            &Origin::of_frame(sender),
            bytes,
        );
        let mut buffer = [0; 100];
        while let Some((_, len)) =
            self.nodes[receiver]
                .authenticator
                .poll_transmit(now, &mut buffer, |_, _| (0, PseudoHeader::FRAME))
        {
            self.record(receiver, &buffer[..len], false);
        }
        verdict
    }

    fn deliver(&mut self, record: usize) -> Result<(), &'static str> {
        let (sender, bytes) = (
            self.recorded[record].sender,
            self.recorded[record].bytes.clone(),
        );
        let Verdict::Deliver { len, .. } = self.open(sender, &bytes) else {
            return Ok(());
        };
        let recorded = &mut self.recorded[record];
        let receiver = &mut self.nodes[1 - sender];
        if !recorded.is_message || len != PAYLOAD_LEN {
            return Err("a node delivered bytes that are no message");
        }
        if std::mem::replace(&mut recorded.is_delivered, true) {
            return Err("a node delivered a message twice");
        }
        if self.now - recorded.signed_at > MESSAGE_AGE_MAX_MS {
            return Err("a node delivered a message that was signed long ago");
        }
        if recorded.boot < receiver.delivered_boot {
            return Err("a node delivered a message of an earlier boot");
        }
        receiver.delivered_boot = recorded.boot;
        Ok(())
    }
}

fn authenticator(at: usize, boot: u32) -> Authenticator<usize> {
    let text = "7 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let keyring = Keyring::parse(text).expect("a legal key");
    let mut seed = [u8::try_from(at).unwrap_or_default(); 32];
    seed[1..5].copy_from_slice(&boot.to_be_bytes());
    Authenticator::new(&keyring, false, seed)
}
