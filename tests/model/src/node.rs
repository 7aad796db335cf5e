//! One node: a state machine with its clock, its link and its stored state.

use std::hash::{Hash, Hasher};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{FRAME_LEN_MAX, Frame, Message, NO_IP, Token};
use ring_proto::lab2::{Command, StoredState};
use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, SendOutcome, StoreOutcome, Transmit};

use crate::digest::{Digest, Key};
use crate::machine::{AnyMachine, Start};
use crate::named_locks::{self, LockHolder};
use crate::notation;
use crate::scenario::Scenario;

/// The start of every clock. It is so late that no rule computes a time before 0.
pub(crate) const EPOCH: Instant = Instant::from_nanos(1 << 40);

/// A state machine, its clock and its stored state.
#[derive(Clone)]
pub struct Node {
    /// The state machine. If the node does not run, its state machine is new.
    pub machine: Box<dyn AnyMachine>,
    /// The stored state.
    pub durable: StoredState,
    /// The node's own time.
    pub clock: Instant,
    /// Whether the process runs.
    pub running: bool,
    /// Whether the link is up.
    pub connected: bool,
    /// Whether the application has work for the token.
    pub wants: bool,
    /// The disturbance of the node's link or disk.
    pub trouble: Option<Trouble>,
    /// The MTU that the node knows.
    pub mtu: usize,
    /// The last tenure that the node began, including tenures before a restart.
    pub last_tenure: Option<Token>,
    /// The token for which the node had a quorum, and the time until which the node's application may rely on this
    /// quorum. The time ends earlier only if the node hands the token over.
    pub quorum: Option<(Token, Instant)>,
    /// The time of the last broadcast heartbeat of the node, or of the start of its tenure.
    pub last_heartbeat: Instant,
    /// The programs that wait for named locks or hold them.
    pub programs: Vec<LockHolder>,
    /// The start of the process.
    began: Instant,
    warm_up: Duration,
    waiter_timeout: Duration,
    digest: Digest,
}

/// A disturbance of a running node with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// The node receives nothing.
    Deaf,
    /// Unicasts to and from the node are lost. Broadcasts arrive.
    Alone,
    /// Broadcasts to the node are lost. Unicasts arrive.
    Broadcasts,
    /// The node cannot store its state.
    Full,
    /// The link loses all frames that are longer than a heartbeat without data, and the node does not know this limit.
    Narrow,
}

impl Trouble {
    /// Every disturbance.
    pub const ALL: [Self; 5] = [
        Self::Deaf,
        Self::Alone,
        Self::Broadcasts,
        Self::Full,
        Self::Narrow,
    ];
}

/// The initial MTU of a link.
const MTU_DEFAULT: usize = 1_500;
/// The MTU of a narrow link.
pub(crate) const MTU_NARROW: usize = 576;
/// The length of the Ethernet header, which an MTU does not include.
const ETHERNET_HEADER_LEN: usize = 14;

/// An input of a state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A frame, and its waiting time.
    Frame(Arc<[u8]>, Duration),
    /// The deadline of the state machine has passed.
    TimeOut,
    /// A command of the application.
    Command(Command),
    /// Whether the link is up.
    Link(bool),
}

// The type `Command` cannot be hashed, but only a few different commands occur.
impl Hash for Input {
    fn hash<H: Hasher>(&self, state: &mut H) {
        mem::discriminant(self).hash(state);
        if let Self::Frame(bytes, age) = self {
            (bytes, age).hash(state);
        }
    }
}

/// A node after an input, and the frames that the node sent.
pub struct Turn {
    pub node: Node,
    /// The sent frames in order. Each frame has the state that the node had stored before it sent the frame.
    pub sent: Vec<(Vec<u8>, StoredState)>,
}

impl Node {
    /// Returns a node that does not run and has no stored state.
    pub fn new(scenario: &Scenario, at: usize, start: Start) -> Self {
        let constants = scenario.constants_of(at);
        let waiter_timeout = constants.waiter_timeout();
        let durable = StoredState {
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
            mtu: MTU_DEFAULT,
            last_tenure: None,
            quorum: None,
            last_heartbeat: EPOCH,
            programs: Vec::new(),
            began: EPOCH,
            warm_up: scenario.warm_up(),
            waiter_timeout,
            digest: Digest::default(),
        }
    }

    /// Returns the node after the death of its process.
    pub fn after_crash(&self, scenario: &Scenario, at: usize) -> Self {
        Self {
            machine: self
                .machine
                .start_anew(scenario.constants_of(at), self.durable),
            running: false,
            connected: false,
            wants: false,
            programs: named_locks::after_crash(&self.programs),
            ..self.clone()
        }
    }

    /// Returns the deadline of the state machine.
    pub fn deadline(&self) -> Option<Instant> {
        self.machine.poll_timeout()
    }

    /// Returns the node with a disturbance.
    pub fn with_trouble(&self, trouble: Trouble) -> Self {
        Self {
            trouble: Some(trouble),
            ..self.clone()
        }
    }

    /// Returns a copy of the node whose disturbance has ended. A narrow link stays narrow, but the node learns the
    /// link's MTU.
    pub fn without_trouble(&self) -> Self {
        let narrow = self.trouble == Some(Trouble::Narrow);
        Self {
            trouble: None,
            mtu: if narrow { MTU_NARROW } else { self.mtu },
            ..self.clone()
        }
    }

    /// Whether the node can receive a frame.
    pub fn can_receive(&self) -> bool {
        self.running && self.connected && self.trouble != Some(Trouble::Deaf)
    }

    /// Gives an input to the node with index `at`, at the time `time`. The link of the node accepts or refuses the
    /// frames that the node then sends.
    pub fn turn(
        &self,
        scenario: &Scenario,
        at: usize,
        input: &Input,
        time: Instant,
        refuse: bool,
    ) -> Turn {
        let mut node = self.clone();
        // A deadline may lie before the clock of the node. The clock must not go back.
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
                named_locks::note_command(&mut node.programs, command);
                node.machine.handle_command(now, command.clone());
            }
            Input::Link(up) => {
                if !node.running {
                    node.began = node.clock;
                }
                node.running = true;
                node.connected = *up;
                node.machine
                    .handle_link(now, link(scenario, at, up.then_some(node.mtu)));
            }
        }
        let sent = node.drain(now, refuse);
        let told_all = sent.iter().any(|(bytes, _)| is_heartbeat(bytes));
        let holds = node.machine.held();
        if told_all || holds != held {
            node.last_heartbeat = node.clock;
        }
        if holds.is_some() && holds != held {
            node.last_tenure = holds;
        }
        node.note_quorum();
        node.note_leases();
        Turn { node, sent }
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

    fn note_leases(&mut self) {
        let (machine, clock) = (&self.machine, self.clock);
        for program in self.programs.iter_mut().filter(|it| !it.is_orphan) {
            if let Some(claim) = &mut program.claim
                && let Some(until) = machine.lock_lease_end(program.session)
            {
                claim.until = until;
            }
        }
        let is_over = |it: &LockHolder| it.claim.is_some_and(|it| it.until <= clock);
        self.programs.retain(|it| !it.is_orphan || !is_over(it));
    }

    fn note_wish(&mut self, command: &Command) {
        match command {
            Command::WantToken => self.wants = true,
            Command::WorkDone => self.wants = false,
            _ => {}
        }
    }

    /// Carries out the outputs of the state machine, in the order of its contract.
    fn drain(&mut self, now: Now, refuse: bool) -> Vec<(Vec<u8>, StoredState)> {
        let narrow = self.trouble == Some(Trouble::Narrow);
        let longest = ETHERNET_HEADER_LEN + if narrow { MTU_NARROW } else { self.mtu };
        let mut sent = Vec::new();
        let mut tickets = Vec::new();
        let mut buffer = [0; FRAME_LEN_MAX];
        loop {
            while let Some(durable) = self.machine.poll_durable() {
                if self.trouble == Some(Trouble::Full) {
                    self.machine.handle_stored(now, StoreOutcome::Failed);
                    continue;
                }
                self.durable = durable;
                self.machine.handle_stored(now, StoreOutcome::Done);
            }
            while let Some(Transmit { len, ticket, .. }) = self.machine.poll_transmit(&mut buffer) {
                let sent = if refuse {
                    SendOutcome::Failed
                } else if len > longest {
                    SendOutcome::TooLong
                } else {
                    sent.push((buffer[..len].to_vec(), self.durable));
                    SendOutcome::Accepted
                };
                tickets.push((ticket, sent));
            }
            if tickets.is_empty() {
                break;
            }
            for (ticket, sent) in tickets.drain(..) {
                self.machine.handle_sent(now, ticket, sent);
            }
            if self.machine.wants_flush_report() {
                self.machine.handle_flushed(now);
            }
        }
        while let Some(event) = self.machine.poll_event() {
            named_locks::note_event(&mut self.programs, &event, self.clock);
        }
        sent
    }

    /// Returns bytes that identify the state of the node. The bytes do not depend on the time.
    fn key(&self) -> Vec<u8> {
        let mut key = Key(self.machine.snapshot());
        let StoredState {
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
                .since(self.last_heartbeat)
                .min(self.waiter_timeout)
                .hash(&mut key);
        }
        if !self.warm_up.is_zero() && self.running {
            self.clock
                .since(self.began)
                .min(self.warm_up)
                .hash(&mut key);
        }
        for program in &self.programs {
            let fence = program.claim.map(|it| it.fence);
            (program.session, program.is_orphan, fence).hash(&mut key);
        }
        key.0
    }

    /// Returns the digest of the node's key. Two different nodes never share a digest by chance.
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
