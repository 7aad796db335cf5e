//! Several state machines on a network that may lose, duplicate and delay frames, and may split. The processes may
//! stall and restart.
//!
//! After every event, the network checks the invariants that must always hold: promises 1, 6 and 7 of
//! `docs/reference/lab2/promises.md`. The network also checks that frames name only stored tokens. All faults follow
//! from the seed.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::time::Duration;

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use ring_codec::MacAddr;
use ring_codec::lab2::{FRAME_LEN_MAX, Kind};

use super::node::{NetworkConditions, Node};
use super::notation::{assert_stored, decode, line, mac, show};
use crate::lab2::{Command, Constants, Event, Grade, Lab2};
use crate::time::{Instant, Now};
use crate::{LinkState, Machine, SendOutcome, StoreOutcome, Transmit};

/// A line of the trace.
enum Note {
    Hears(Vec<u8>),
    Says(Vec<u8>),
    Tells(Event),
}

/// A frame that is under way: time of arrival, number in the order of sending, index of the receiver, bytes.
type Flight = Reverse<(Instant, u64, usize, Vec<u8>)>;

pub(super) struct Network {
    pub now: Now,
    pub nodes: Vec<Node>,
    pub conditions: NetworkConditions,
    /// The indices of two nodes. The second node does not hear the first node.
    pub unheard: Option<(usize, usize)>,
    constants: Constants,
    flights: BinaryHeap<Flight>,
    sent: u64,
    rng: TestRng,
    /// Tokens of all tenures.
    tenures: BTreeSet<[u8; 18]>,
    /// Number of broadcasts of each kind.
    pub broadcasts: [usize; 18],
    /// The number of frames with a standing.
    pub standings: usize,
    /// Reported grades, in the order of the reports.
    pub grades: Vec<Grade>,
    /// Latest events, for the message of a failed check.
    log: VecDeque<(Instant, u8, Note)>,
}

impl Network {
    /// Creates nodes 1 to `n` on a network without faults. Their links are down.
    pub(super) fn with_links_down(n: u8, constants: Constants, seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_be_bytes());
        let start = Instant::from_nanos(1_000_000_000);
        Self {
            now: Now {
                monotonic: start,
                wall: 1_700_000_000_000_000_000,
            },
            nodes: (1..=n)
                .map(|number| Node::new(number, &constants))
                .collect(),
            conditions: NetworkConditions::CLEAR,
            unheard: None,
            constants,
            flights: BinaryHeap::new(),
            sent: 0,
            rng: TestRng::from_seed(RngAlgorithm::ChaCha, &bytes),
            tenures: BTreeSet::new(),
            broadcasts: [0; 18],
            standings: 0,
            grades: Vec::new(),
            log: VecDeque::new(),
        }
    }

    /// Creates nodes 1 to `n`. Their links come up immediately.
    pub(super) fn new(n: u8, constants: Constants, seed: u64) -> Self {
        let mut network = Self::with_links_down(n, constants, seed);
        for at in 0..network.nodes.len() {
            network.link_up(at);
        }
        network
    }

    pub(super) fn link_up(&mut self, at: usize) {
        let node = &self.nodes[at];
        let (mac, ip) = (mac(node.number), node.ip);
        let up = LinkState::Up { mac, ip, mtu: 1500 };
        self.input(at, |machine, now| machine.handle_link(now, up));
    }

    /// Changes a node's IP address. If the node's process does not run, the process learns the new address at its next
    /// start.
    pub(super) fn change_ip(&mut self, at: usize, ip: [u8; 16]) {
        self.nodes[at].ip = ip;
        if self.nodes[at].is_running() {
            self.link_up(at);
        }
    }

    pub(super) fn command(&mut self, at: usize, command: Command) {
        self.input(at, |machine, now| machine.handle_command(now, command));
    }

    /// Kills a process. Until the node starts again, the network loses all frames to it.
    pub(super) fn kill(&mut self, at: usize) {
        self.nodes[at].machine = None;
        self.nodes[at].stalled_queue = None;
    }

    /// Starts a process again, with its state file.
    pub(super) fn restart(&mut self, at: usize) {
        if self.nodes[at].machine.is_none() {
            let durable = self.nodes[at].durable;
            self.nodes[at].machine = Some(Lab2::new(self.constants.clone(), durable));
            self.link_up(at);
        }
    }

    /// Stalls a process.
    pub(super) fn stall(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        if node.machine.is_some() {
            node.stalled_queue.get_or_insert_default();
        }
    }

    /// Resumes a process. In half of the cases, the process first handles the expired timeouts. Then the process
    /// handles its queued frames.
    pub(super) fn resume(&mut self, at: usize) {
        let Some(queue) = self.nodes[at].stalled_queue.take() else {
            return;
        };
        if self.chance(500) {
            self.input(at, Lab2::handle_timeout);
        }
        for (arrived, bytes) in queue {
            self.receive(at, &bytes, arrived);
        }
    }

    /// Advances the time from event to event, and runs a check after each event.
    pub(super) fn run_checking(&mut self, time: Duration, mut check: impl FnMut(&Self)) {
        let end = self.now.monotonic + time;
        let mut events = 0;
        while let Some(next) = self.next_event().filter(|&at| at <= end) {
            events += 1;
            assert!(
                events < 1_000_000,
                "the events do not end:\n{}",
                self.trace()
            );
            self.move_to(next);
            match self.flights.peek() {
                Some(Reverse(flight)) if flight.0 <= next => self.deliver(),
                _ => self.fire(next),
            }
            check(self);
        }
        self.move_to(end);
    }

    pub(super) fn run(&mut self, time: Duration) {
        self.run_checking(time, |_| {});
    }

    /// Advances the time until a condition holds. Fails if the condition does not hold within `limit`.
    pub(super) fn run_until(
        &mut self,
        limit: Duration,
        mut so: impl FnMut(&Self) -> bool,
    ) -> Duration {
        let start = self.now.monotonic;
        while !so(self) {
            let passed = self.now.monotonic.since(start);
            assert!(
                passed <= limit,
                "the condition does not hold within {limit:?}:\n{}",
                self.trace()
            );
            let next = self.next_event().expect("a node has a deadline");
            self.run(next.since(self.now.monotonic));
        }
        self.now.monotonic.since(start)
    }

    pub(super) fn owners(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.token().is_some())
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &Lab2> {
        self.nodes.iter().filter_map(|node| node.machine.as_ref())
    }

    /// Returns the latest events.
    pub(super) fn trace(&self) -> String {
        let tell = |(at, node, note): &(Instant, u8, Note)| {
            let what = match note {
                Note::Hears(bytes) => format!("receives {}", line(bytes)),
                Note::Says(bytes) => format!("sends {}", line(bytes)),
                Note::Tells(event) => format!("{event:?}"),
            };
            format!("{:>13} n{node} {what}\n", at.as_nanos())
        };
        self.log.iter().map(tell).collect()
    }

    fn move_to(&mut self, to: Instant) {
        let by = to.since(self.now.monotonic);
        self.now.monotonic = self.now.monotonic + by;
        self.now.wall += u64::try_from(by.as_nanos()).expect("short tests");
    }

    fn next_event(&self) -> Option<Instant> {
        let running = self.nodes.iter().filter(|node| node.is_running());
        let deadlines = running.filter_map(|node| node.machine.as_ref()?.poll_timeout());
        let arrival = self.flights.peek().map(|Reverse(flight)| flight.0);
        deadlines.chain(arrival).min()
    }

    /// Wakes the first node whose deadline is reached.
    fn fire(&mut self, now: Instant) {
        let is_due = |node: &Node| {
            let deadline = node.machine.as_ref().and_then(Lab2::poll_timeout);
            node.is_running() && deadline.is_some_and(|at| at <= now)
        };
        if let Some(at) = self.nodes.iter().position(is_due) {
            self.input(at, Lab2::handle_timeout);
        }
    }

    fn deliver(&mut self) {
        let Some(Reverse((arrived, _, at, bytes))) = self.flights.pop() else {
            return;
        };
        match &mut self.nodes[at].stalled_queue {
            Some(queue) if queue.len() < 100 => queue.push((arrived, bytes)),
            Some(_) => {}
            None => self.receive(at, &bytes, arrived),
        }
    }

    fn receive(&mut self, at: usize, bytes: &[u8], arrived: Instant) {
        let age = self.now.monotonic.since(arrived);
        self.note(at, Note::Hears(bytes.to_vec()));
        let answers = self.input(at, |machine, now| {
            machine.handle_message(now, (), bytes, age);
        });
        assert!(answers <= 2, "{answers} answers:\n{}", self.trace());
    }

    fn note(&mut self, at: usize, note: Note) {
        if self.log.len() == 120 {
            self.log.pop_front();
        }
        let number = self.nodes[at].number;
        self.log.push_back((self.now.monotonic, number, note));
    }

    fn chance(&mut self, of_1000: u32) -> bool {
        self.rng.next_u32() % 1_000 < of_1000
    }

    /// Passes an input to a node, handles all outputs of the node as the contract demands, and checks the invariants.
    /// Returns the number of frames that the node sent.
    fn input(&mut self, at: usize, input: impl FnOnce(&mut Lab2, Now)) -> usize {
        let now = self.now;
        let node = &mut self.nodes[at];
        let Some(machine) = node.machine.as_mut() else {
            return 0;
        };
        input(machine, now);
        let mut frames = Vec::new();
        loop {
            if let Some(durable) = machine.poll_durable() {
                node.durable = durable;
                machine.handle_stored(now, StoreOutcome::Done);
            }
            let mut buf = [0xaa; FRAME_LEN_MAX];
            let Some(Transmit { len, ticket, .. }) = machine.poll_transmit(&mut buf) else {
                break;
            };
            assert_stored(&buf[..len], node.durable);
            let sent = if node.refused {
                SendOutcome::Failed
            } else {
                frames.push(buf[..len].to_vec());
                SendOutcome::Accepted
            };
            machine.handle_sent(now, ticket, sent);
            if machine.wants_flush_report() {
                machine.handle_flushed(now);
            }
        }
        let mut events = Vec::new();
        while let Some(event) = machine.poll_event() {
            events.push(event);
        }
        for event in &events {
            if let Event::StateChanged { .. } | Event::HandoverFailed { .. } = event {
                self.note(at, Note::Tells(*event));
            }
            if let Event::GradeChanged { grade, .. } = event {
                self.grades.push(*grade);
            }
        }
        let count = frames.len();
        for bytes in frames {
            self.carry(at, &bytes);
        }
        self.check(at);
        count
    }

    /// Sends a frame to all its receivers.
    fn carry(&mut self, from: usize, bytes: &[u8]) {
        let frame = decode(bytes);
        let broadcast = frame.destination == MacAddr::BROADCAST;
        if broadcast {
            self.broadcasts[frame.message.kind() as usize] += 1;
        }
        self.standings += usize::from(frame.locks.is_some());
        self.note(from, Note::Says(bytes.to_vec()));
        for to in 0..self.nodes.len() {
            let addressed = broadcast || frame.destination == mac(self.nodes[to].number);
            let connected = self.nodes[to].island == self.nodes[from].island;
            let unheard = self.unheard == Some((from, to));
            if to == from
                || !addressed
                || !connected
                || unheard
                || self.chance(self.conditions.lost)
            {
                continue;
            }
            let copies = 1 + u64::from(self.chance(self.conditions.doubled));
            for _ in 0..copies {
                let most = u64::try_from(self.conditions.delay.as_nanos()).expect("short");
                let delay = Duration::from_nanos(10_000 + self.rng.next_u64() % most);
                let due = self.now.monotonic + delay;
                self.sent += 1;
                let flight = (due, self.sent, to, bytes.to_vec());
                self.flights.push(Reverse(flight));
            }
        }
    }

    /// Returns how many frames of a kind were broadcast.
    pub(super) fn broadcasts_of(&self, kind: Kind) -> usize {
        self.broadcasts[kind as usize]
    }

    /// Checks the invariants at the node of the last event.
    fn check(&mut self, at: usize) {
        let node = &self.nodes[at];
        let machine = node.machine.as_ref().expect("the node has just acted");
        assert!(machine.members().len() <= self.constants.max_members);
        let sorted = machine.members().map(|m| m.mac).is_sorted_by(|a, b| a < b);
        assert!(sorted, "the table of n{} is out of order", at + 1);
        let Some(token) = node.token() else {
            return;
        };
        if node.held == Some(token) {
            return;
        }
        // Invariant 6: a node's tenures only grow stronger, and no two tenures have the same fencing token.
        let grows = node.held.is_none_or(|held| token.is_stronger_than(&held));
        assert!(
            grows,
            "n{}: {} goes back:\n{}",
            at + 1,
            show(token),
            self.trace()
        );
        let new = self.tenures.insert(token.priority());
        assert!(
            new,
            "n{}: {} a second time:\n{}",
            at + 1,
            show(token),
            self.trace()
        );
        // Invariant 1.
        let equals = self.owners().filter(|other| other.token() == Some(token));
        assert_eq!(equals.count(), 1, "equal tokens:\n{}", self.trace());
        self.nodes[at].held = Some(token);
        self.nodes[at].tenures += 1;
    }
}
