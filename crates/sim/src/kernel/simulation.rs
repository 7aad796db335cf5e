//! The simulation: virtual time that jumps from event to event, and processes that handle the events.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use ring_proto::time::{Now, nanos};
use ring_runtime::driver::{Driver, ReceiveBatch, TransmitBatch};
use ring_trust::TRAILER_LEN;

use super::attacker::Recordings;
use super::conditions::Network;
use super::kinds::FaultEffect;
use super::node::{
    ArrivedMessage, INBOX_MESSAGES_MAX, InputContext, MachineObserver, NEVER, Node, NodeDisk,
    NodeEnvironment, NodeLink, OutgoingMessage,
};
use super::queue::{Event, Queue, id, index};
use super::rng::Rng;
use super::schedule::Action;
use super::signed_link::{Sender, SignedLink, SignedMessages};
use super::stats::Count;
use super::streams::{Carrier, ConnectionTable, StreamConditions};
use super::system::{Message, Moment, Peer, System};

const SECOND: u64 = 1_000_000_000;
/// The number of messages that a node reads at once. The number is so small that thousands of nodes fit into memory.
const RECEIVE_BATCH: usize = 4;
pub(super) const TRANSMIT_BATCH: usize = 2;

/// A simulation of several nodes on a network. The simulation depends only on the seed and on the calls.
///
/// Nodes are numbered from 0. Functions panic if a number belongs to no node. Simulated time starts at zero.
pub struct Simulation<S: System> {
    /// The simulated time, in nanoseconds.
    pub(crate) now: u64,
    /// The nodes, by number.
    pub nodes: Vec<Node<S>>,
    /// The scheduled events.
    pub queue: Queue<S::Event, Peer<S>, S::Address>,
    pub(crate) network: Network<Peer<S>, S::Address>,
    pub(crate) rng: Rng,
    /// The system.
    pub system: S,
    /// The schedule's actions, in order of time.
    pub(crate) actions: Rc<[Action<S::Fault>]>,
    /// The number of messages sent since the last full second.
    pub(super) sent_this_second: u64,
    second: u64,
    /// The number of events at the current time.
    events_now: u64,
    outgoing: Vec<OutgoingMessage<S>>,
    pub(super) signed: SignedMessages<Sender<S>>,
    /// The messages that the attacker has heard; `None` without an attacker.
    pub(super) recordings: Option<Recordings<Peer<S>, S::Address>>,
    pub(super) fabric: Rc<RefCell<ConnectionTable<Peer<S>>>>,
    pub(super) stream_conditions: StreamConditions,
    /// Whether the simulation ended early.
    pub(crate) over: bool,
}

impl<S: System> Simulation<S> {
    /// Creates a simulation of nodes on a network; no process is started.
    pub fn assemble(
        nodes: Vec<Node<S>>,
        network: Network<Peer<S>, S::Address>,
        rng: Rng,
        system: S,
    ) -> Self {
        Self {
            now: 0,
            nodes,
            queue: Queue::default(),
            network,
            rng,
            system,
            actions: Rc::from([]),
            sent_this_second: 0,
            second: 0,
            events_now: 0,
            outgoing: Vec::new(),
            signed: SignedMessages::default(),
            recordings: None,
            fabric: Rc::default(),
            stream_conditions: StreamConditions::default(),
            over: false,
        }
    }

    /// Schedules actions.
    pub fn schedule(&mut self, actions: Rc<[Action<S::Fault>]>) {
        for (at, action) in actions.iter().enumerate() {
            self.queue.push(action.at_us * 1_000, Event::Act(id(at)));
        }
        self.actions = actions;
    }

    /// Schedules an event of the system.
    pub fn later(&mut self, at: u64, event: S::Event) {
        self.queue.push(at, Event::System(event));
    }

    /// Schedules an event of the system for a node's current process. The event is dropped if the process has died.
    pub fn later_in_life(&mut self, node: usize, at: u64, event: S::Event) {
        let life = self.nodes[node].life;
        let node = id(node);
        self.queue.push(at, Event::Life { node, life, event });
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.now)
    }

    /// Returns the number of nodes, including dead nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns a node's state machine, or `None` if its process is dead.
    pub fn machine(&self, at: usize) -> Option<&S::Machine> {
        self.nodes[at].driver.as_ref().map(Driver::machine)
    }

    /// Returns the nodes whose processes are alive.
    pub fn live(&self) -> impl Iterator<Item = usize> + '_ {
        let alive = |&at: &usize| self.nodes[at].driver.is_some();
        (0..self.nodes.len()).filter(alive)
    }

    /// Whether the simulation ended early because of too many violations.
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// Runs for a time, or until the simulation [ends early](Self::is_over).
    pub fn run(&mut self, time: Duration) {
        self.run_watching(time, |_| true);
    }

    /// Runs until a condition holds, and returns the duration. If the condition does not hold within `limit`, returns
    /// `None`. The condition is checked after every event.
    pub fn run_until(
        &mut self,
        limit: Duration,
        mut so: impl FnMut(&Self) -> bool,
    ) -> Option<Duration> {
        let start = self.now;
        if so(self) {
            return Some(Duration::ZERO);
        }
        let mut is_so = false;
        self.run_watching(limit, |sim| {
            is_so = so(sim);
            !is_so
        });
        is_so.then(|| Duration::from_nanos(self.now - start))
    }

    /// Runs for a time, as long as `watch` returns `true` after each event.
    pub fn run_watching(&mut self, time: Duration, mut watch: impl FnMut(&Self) -> bool) {
        let end = self.now.saturating_add(nanos(time));
        while !self.over {
            let Some((at, event)) = self.queue.pop_by(end) else {
                self.now = end;
                return;
            };
            self.advance_to(at);
            self.handle_event(event);
            self.system.after_event();
            if !watch(self) {
                return;
            }
        }
    }

    fn advance_to(&mut self, at: u64) {
        if at > self.now {
            self.now = at;
            self.events_now = 0;
            if at >= self.second + SECOND {
                self.second = at;
                self.sent_this_second = 0;
            }
        }
        self.system.count(Count::Event);
        self.events_now += 1;
        // The limit is far above the number of messages that any protocol rule causes.
        let squared = (self.nodes.len() * self.nodes.len()) as u64;
        if self.events_now > 100_000 + 100 * squared
            || self.sent_this_second > 200_000 + 200 * squared
        {
            self.system.on_storm(self.now, self.sent_this_second);
            self.over = true;
        }
        self.over |= self.system.can_end();
    }

    fn handle_event(&mut self, event: Event<S::Event, Peer<S>, S::Address>) {
        match event {
            Event::One { message, at } => self.deliver(index(at), &message),
            Event::All { message, except } => {
                let except = except.as_deref().unwrap_or_default();
                for to in 0..self.nodes.len() {
                    let at = id(to);
                    let is_own = message.node == Some(at);
                    if !is_own && (except.is_empty() || !except.contains(&at)) {
                        self.deliver(to, &message);
                    }
                }
            }
            Event::Stream(pipe, to) => self.deliver_step(pipe, to),
            Event::GiveUp(pipe, side) => self.give_up(pipe, side),
            Event::Wake(at) => self.wake(index(at)),
            Event::Free(at) => self.continue_process(index(at)),
            Event::Attack => self.attack(),
            Event::Act(action) => {
                let actions = Rc::clone(&self.actions);
                S::apply_action(self, &actions[index(action)].fault);
            }
            Event::System(event) => S::on_system_event(self, event),
            Event::Life { node, life, event } => {
                if self.nodes[index(node)].life == life {
                    S::on_system_event(self, event);
                }
            }
        }
    }

    fn deliver(&mut self, to: usize, message: &Message<S>) {
        let now = self.now;
        let node = &mut self.nodes[to];
        let Message::<S> { from, bytes, .. } = message;
        // An interface drops frames that are longer than its MTU.
        let fits = bytes.len() <= S::HEADER_LEN + node.mtu;
        if node.driver.is_none() || node.unplugged || !fits || !S::accepts(&node.own, message.to) {
            return;
        }
        if node.deaf {
            return self.count_effect(FaultEffect::Deaf);
        }
        if node.inbox.len() >= INBOX_MESSAGES_MAX {
            return self.system.count(Count::Overflowed);
        }
        node.inbox.push_back(ArrivedMessage {
            from: *from,
            bytes: bytes.clone(),
            at: node.clock.monotonic(now),
            origin: self.signed.find(now, bytes),
        });
        if node.paused.is_none() && node.busy_until <= now {
            self.run_iteration(to, true);
        }
    }

    /// Handles a wake-up. Ignores the wake-up if an earlier wake-up has replaced it.
    fn wake(&mut self, at: usize) {
        let now = self.now;
        let node = &mut self.nodes[at];
        if node.armed != now {
            return;
        }
        node.armed = NEVER;
        if node.is_running() && node.busy_until <= now {
            // The deadline or the rate of the clock may have changed since this wake-up was scheduled.
            if self.deadline(at) <= now {
                self.run_iteration(at, false);
            } else {
                self.schedule_wake(at);
            }
        }
    }

    /// Continues a process that was busy or stalled, and handles the waiting events.
    fn continue_process(&mut self, at: usize) {
        let node = &self.nodes[at];
        if !node.is_running() || node.busy_until > self.now {
            return;
        }
        let has_stream_work = self.has_stream_work(at);
        if !node.inbox.is_empty() || has_stream_work || self.deadline(at) <= self.now {
            let arrived = has_stream_work || !self.nodes[at].inbox.is_empty();
            self.run_iteration(at, arrived);
        } else {
            self.schedule_wake(at);
        }
    }

    /// Whether a node has work on its connections.
    fn has_stream_work(&self, at: usize) -> bool {
        if !S::Streams::ANY {
            return false;
        }
        let streams = self.nodes[at].streams.as_ref();
        streams.is_some_and(Carrier::is_due) || self.fabric.borrow().has_changes(at)
    }

    /// Returns the simulated time of the state machine's deadline.
    fn deadline(&self, at: usize) -> u64 {
        let node = &self.nodes[at];
        let due = node.driver.as_ref().and_then(Driver::deadline);
        due.map_or(NEVER, |due| node.clock.simulated_time_at(due))
    }

    /// Schedules a wake-up for the deadline. If a wake-up is already scheduled for an earlier time, this wake-up will
    /// schedule the next one.
    fn schedule_wake(&mut self, at: usize) {
        let due = self.deadline(at).max(self.now);
        let node = &mut self.nodes[at];
        if due < node.armed {
            node.armed = due;
            self.queue.push(due, Event::Wake(id(at)));
        }
    }

    /// Runs one loop iteration of the daemon.
    pub(super) fn run_iteration(&mut self, at: usize, arrived: bool) {
        let node = &self.nodes[at];
        let late = node.clock.now(self.now + node.slow);
        self.input(at, |driver, now, environment| {
            // The simulated link never fails to receive.
            let _ = driver.turn(now, arrived, || late, environment);
        });
    }

    /// Gives an input to a state machine, sends its messages, checks the node and schedules its wake-up. Does nothing
    /// if the process is dead.
    pub fn input(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut Driver<S::Machine>, Now, &mut NodeEnvironment<'_, '_, S>),
    ) {
        let node = &mut self.nodes[at];
        let Some(driver) = node.driver.as_mut() else {
            return;
        };
        let mut signer = node.signer.take();
        if let Some(signer) = &mut signer {
            signer.set_addressing(S::addressing(at, &node.own));
        }
        let context = InputContext {
            moment: Moment {
                at: self.now,
                node: at,
            },
            parts: RefCell::new((&mut self.system, &mut node.own)),
        };
        let link = NodeLink {
            context: &context,
            inbox: &mut node.inbox,
            streams: node.streams.as_mut(),
            outgoing: &mut self.outgoing,
            signs: signer.is_some(),
            signed: &mut self.signed,
            late: node.clock.now(self.now + node.slow),
            rng: &mut self.rng,
            refuse: node.refuse,
            refuse_unicast: node.unicast_refused,
            longest: S::HEADER_LEN + node.mtu,
        };
        let mut link = SignedLink::new(link, signer, (node.life, node.up_since));
        let mut environment = NodeEnvironment {
            link: Some(&mut link),
            store: &mut NodeDisk {
                context: &context,
                full: node.disk_full,
            },
            observer: &mut MachineObserver(&context),
        };
        act(driver, node.clock.now(self.now), &mut environment);
        node.signer = link.into_signer();
        // A slow process sends at the end of its loop iteration, because the driver sends in batches.
        let leaves = self.now + node.slow;
        if node.slow > 0 {
            node.busy_until = leaves;
            self.queue.push(leaves, Event::Free(id(at)));
        }
        let mut outgoing = std::mem::take(&mut self.outgoing);
        for OutgoingMessage { message, label } in outgoing.drain(..) {
            self.transmit(message, label, leaves);
        }
        self.outgoing = outgoing;
        self.carry_streams(leaves);
        self.report_forged_data(at);
        S::check_node(self, at);
        // A slow node needs no wake-up: it checks its connections when its loop iteration ends.
        if self.has_stream_work(at) && self.nodes[at].slow == 0 {
            self.queue.push(self.now, Event::Free(id(at)));
        }
        self.schedule_wake(at);
    }

    /// Starts a dead process with this state machine.
    pub fn start_process(&mut self, at: usize, machine: S::Machine) {
        let batches = (
            ReceiveBatch::new(RECEIVE_BATCH, S::MESSAGE_LEN_MAX + TRAILER_LEN),
            TransmitBatch::of(TRANSMIT_BATCH, S::MESSAGE_LEN_MAX),
        );
        let node = &mut self.nodes[at];
        // This number shows that an event was scheduled for an earlier process of the node, and the event is then
        // dropped.
        node.life += 1;
        node.up_since = self.now;
        node.streams = Some(S::listen(&self.fabric, at, &node.own));
        node.driver = Some(Driver::with_batches(machine, batches.0, batches.1));
        self.renew_signer(at);
    }

    /// Kills a process. The messages that the process has not read are lost.
    pub fn end_process(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.driver = None;
        node.signer = None;
        node.inbox.clear();
        node.paused = None;
        node.armed = NEVER;
        node.busy_until = 0;
        node.streams = None;
        if S::Streams::ANY {
            self.fabric.borrow_mut().end_connections(at);
            self.carry_streams(self.now);
        }
    }

    /// Cuts a host's power: the process dies, and its peers notice this only when the host can be reached again.
    pub fn lose_power(&mut self, at: usize) {
        self.end_process(at);
        self.nodes[at].unplugged = true;
    }

    /// Sets the time, in nanoseconds, after which a kernel gives up a connection without acknowledgements.
    pub fn set_ack_timeout(&mut self, ack_timeout: u64) {
        self.fabric.borrow_mut().ack_timeout = Some(ack_timeout);
    }

    /// Makes a node connect from its current address, after its address has changed.
    pub fn move_connections(&mut self, at: usize) {
        let address = S::address(at, &self.nodes[at].own);
        self.fabric.borrow_mut().set_address(at, address);
    }

    /// Stalls the process; its messages wait.
    pub fn pause(&mut self, at: usize) {
        if self.nodes[at].is_running() {
            self.count_effect(FaultEffect::Pause);
            self.nodes[at].paused = Some(S::Missed::default());
        }
    }

    /// Continues a stalled process.
    pub fn resume(&mut self, at: usize) {
        if let Some(missed) = self.nodes[at].paused.take() {
            self.continue_process(at);
            S::on_resumed(self, at, missed);
        }
    }

    /// Makes a node's monotonic clock faster by this many millionths.
    pub fn set_rate(&mut self, at: usize, millionths: i32) {
        self.nodes[at].clock.set_rate(self.now, millionths);
        self.signed.note_clock_rate(millionths);
        // At the new rate, the node reaches its deadline at a different simulated time.
        self.schedule_wake(at);
    }
}
