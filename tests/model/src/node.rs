//! One node: a machine and what surrounds it.

use std::hash::{Hash, Hasher};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, MAX_FRAME_LEN, Message, NO_IP, Token};
use ring_proto::lab2::{Command, Durable};
use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, Sent, Stored, Transmit};

use crate::digest::{Digest, Key};
use crate::machine::{AnyMachine, Start};
use crate::notation;
use crate::scenario::Scenario;

/// When every clock begins: late enough that no rule looks back beyond the beginning of time.
pub(crate) const EPOCH: Instant = Instant::from_nanos(1 << 40);

/// A machine, its clock and what it has stored.
#[derive(Clone)]
pub struct Node {
    /// The machine; one that has just been made while the node does not run.
    pub machine: Box<dyn AnyMachine>,
    /// What was stored last.
    pub durable: Durable,
    /// This node's own time.
    pub clock: Instant,
    /// The process runs.
    pub running: bool,
    /// The link is up.
    pub connected: bool,
    /// The application has work for the token.
    pub wants: bool,
    /// What is wrong with the node's surroundings.
    pub trouble: Option<Trouble>,
    /// What the node was told that its link carries.
    pub mtu: usize,
    /// The last tenure that the node has begun, in all its lives.
    pub last_tenure: Option<Token>,
    /// Until when its application may rely on a quorum, and for which token, as it was told last; only
    /// the node's own hand-over ends that earlier.
    pub quorum: Option<(Token, Instant)>,
    /// When the node last told all that it holds the token, or began to hold it.
    pub said: Instant,
    patience: Duration,
    digest: Digest,
}

/// What may be wrong around a node that runs on and has a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// It sends, and nothing reaches it.
    Deaf,
    /// What it sends to one station, or gets alone, is lost; what goes to all arrives.
    Alone,
    /// What goes to all does not reach it; what goes to it alone does.
    Broadcasts,
    /// Nothing can be stored.
    Full,
    /// Its link carries no more than a heartbeat without data, and the node has not been told.
    Narrow,
}

impl Trouble {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Deaf,
        Self::Alone,
        Self::Broadcasts,
        Self::Full,
        Self::Narrow,
    ];
}

/// The MTU of a link at first.
const WIDE: usize = 1_500;
/// The MTU of a narrow link.
pub(crate) const NARROW: usize = 576;
/// What comes before what an MTU counts.
const ETHERNET_HEADER: usize = 14;

/// What a machine is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A frame, and how long it has waited.
    Frame(Arc<[u8]>, Duration),
    /// Its time has come.
    TimeOut,
    /// The application's wish.
    Command(Command),
    /// The link is up, or down.
    Link(bool),
}

// Commands have no hash; there are few of them.
impl Hash for Input {
    fn hash<H: Hasher>(&self, state: &mut H) {
        mem::discriminant(self).hash(state);
        if let Self::Frame(bytes, age) = self {
            (bytes, age).hash(state);
        }
    }
}

/// A node after an input, and what it has said.
pub struct Turn {
    /// The node.
    pub node: Node,
    /// The frames that have left, in order, each with what was stored by then.
    pub said: Vec<(Vec<u8>, Durable)>,
}

impl Node {
    /// A node that does not run and has stored nothing.
    pub fn new(scenario: &Scenario, at: usize, start: Start) -> Self {
        let constants = scenario.constants_of(at);
        let patience = constants.waiter_timeout();
        let durable = Durable {
            my_token_number: 0,
            known: None,
            stamp: None,
        };
        Self {
            machine: start(constants, durable),
            durable,
            clock: EPOCH,
            running: false,
            connected: false,
            wants: false,
            trouble: None,
            mtu: WIDE,
            last_tenure: None,
            quorum: None,
            said: EPOCH,
            patience,
            digest: Digest::default(),
        }
    }

    /// The node after its process has died.
    pub fn crashed(&self, scenario: &Scenario, at: usize) -> Self {
        Self {
            machine: self
                .machine
                .start_anew(scenario.constants_of(at), self.durable),
            running: false,
            connected: false,
            wants: false,
            ..self.clone()
        }
    }

    /// When the machine is to be told that its time has come.
    pub fn deadline(&self) -> Option<Instant> {
        self.machine.poll_timeout()
    }

    /// The node with something wrong around it.
    pub fn troubled(&self, trouble: Trouble) -> Self {
        Self {
            trouble: Some(trouble),
            ..self.clone()
        }
    }

    /// The node once that is over. A narrow link stays narrow, but the node is to be told.
    pub fn mended(&self) -> Self {
        let narrow = self.trouble == Some(Trouble::Narrow);
        Self {
            trouble: None,
            mtu: if narrow { NARROW } else { self.mtu },
            ..self.clone()
        }
    }

    /// Whether the node can hear a frame.
    pub fn hears(&self) -> bool {
        self.running && self.connected && self.trouble != Some(Trouble::Deaf)
    }

    /// The node at place `at` gets an input at `time`, and its link takes what follows from it, or
    /// takes nothing.
    pub fn turn(
        &self,
        scenario: &Scenario,
        at: usize,
        input: &Input,
        time: Instant,
        refuse: bool,
    ) -> Turn {
        let mut node = self.clone();
        node.clock = node.clock.max(time);
        let now = Now {
            monotonic: node.clock,
            wall: scenario.wall,
        };
        let held = node.machine.held();
        match input {
            Input::Frame(bytes, age) => node.machine.handle_message(now, (), bytes, *age),
            Input::TimeOut => node.machine.handle_timeout(now),
            Input::Command(command) => {
                node.note_wish(command);
                node.machine.handle_command(now, command.clone());
            }
            Input::Link(up) => {
                node.running = true;
                node.connected = *up;
                node.machine
                    .handle_link(now, link(scenario, at, up.then_some(node.mtu)));
            }
        }
        let said = node.drain(now, refuse);
        let told_all = said.iter().any(|(bytes, _)| is_heartbeat(bytes));
        let holds = node.machine.held();
        if told_all || holds != held {
            node.said = node.clock;
        }
        if holds.is_some() && holds != held {
            node.last_tenure = holds;
        }
        node.note_quorum();
        Turn { node, said }
    }

    fn note_quorum(&mut self) {
        let (held, may_use) = (self.machine.held(), self.machine.may_use());
        let clock = self.clock;
        self.quorum = self
            .quorum
            .filter(|&(token, until)| until > clock && (held != Some(token) || may_use));
        let until = self.machine.quorum_until().filter(|&until| until > clock);
        if let Some((token, until)) = held.zip(until) {
            let before = self.quorum.map_or(until, |(_, before)| before);
            self.quorum = Some((token, before.max(until)));
        }
    }

    fn note_wish(&mut self, command: &Command) {
        match command {
            Command::WantToken => self.wants = true,
            Command::WorkDone => self.wants = false,
            _ => {}
        }
    }

    /// Does what the machine wants done, in the order that its contract asks for.
    fn drain(&mut self, now: Now, refuse: bool) -> Vec<(Vec<u8>, Durable)> {
        let narrow = self.trouble == Some(Trouble::Narrow);
        let longest = ETHERNET_HEADER + if narrow { NARROW } else { self.mtu };
        let mut said = Vec::new();
        let mut tickets = Vec::new();
        let mut buffer = [0; MAX_FRAME_LEN];
        loop {
            while let Some(durable) = self.machine.poll_durable() {
                if self.trouble == Some(Trouble::Full) {
                    self.machine.handle_stored(now, Stored::Failed);
                    continue;
                }
                self.durable = durable;
                self.machine.handle_stored(now, Stored::Done);
            }
            while let Some(Transmit { len, ticket, .. }) = self.machine.poll_transmit(&mut buffer) {
                let sent = if refuse {
                    Sent::Failed
                } else if len > longest {
                    Sent::TooLong
                } else {
                    said.push((buffer[..len].to_vec(), self.durable));
                    Sent::Accepted
                };
                tickets.push((ticket, sent));
            }
            if tickets.is_empty() {
                break;
            }
            for (ticket, sent) in tickets.drain(..) {
                self.machine.handle_sent(now, ticket, sent);
            }
            if self.machine.asks_when_left() {
                self.machine.handle_left(now);
            }
        }
        while self.machine.poll_event().is_some() {}
        said
    }

    /// What tells this node from another, whatever time it is.
    fn key(&self) -> Vec<u8> {
        let mut key = Key(self.machine.snapshot());
        let Durable {
            my_token_number,
            known,
            stamp,
        } = self.durable;
        (my_token_number, known, stamp, self.last_tenure).hash(&mut key);
        (self.running, self.connected, self.wants).hash(&mut key);
        (self.trouble, self.mtu).hash(&mut key);
        let quorum = self.quorum.filter(|&(_, until)| until > self.clock);
        let quorum = quorum.map(|(token, until)| (token, until.since(self.clock)));
        quorum.hash(&mut key);
        if self.machine.held().is_some() {
            self.clock
                .since(self.said)
                .min(self.patience)
                .hash(&mut key);
        }
        key.0
    }

    /// The key, in short: long enough that no two nodes share one by chance.
    pub fn digest(&self) -> u128 {
        self.digest.of(|| self.key())
    }
}

fn link(scenario: &Scenario, at: usize, mtu: Option<usize>) -> LinkState {
    let Some(mtu) = mtu else {
        return LinkState::Down;
    };
    let mac = notation::mac(at);
    let mut ip = NO_IP;
    if scenario.ips {
        ip[10..].copy_from_slice(&[0xff, 0xff, 10, 0, 0, mac.0[5]]);
    }
    LinkState::Up { mac, ip, mtu }
}

fn is_heartbeat(bytes: &[u8]) -> bool {
    Frame::decode(bytes).is_ok_and(|frame| {
        frame.destination == MacAddr::BROADCAST
            && matches!(frame.message, Message::TokenIsHere { .. })
    })
}
