//! The world: virtual time that jumps from event to event, and processes that are pumped through it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use ring_proto::time::{Now, nanos};
use ring_runtime::driver::{Driver, ReceiveBatch, TransmitBatch};

use super::kinds::Trouble;
use super::network::Network;
use super::node::{
    Arrived, Disk, NEVER, Node, Outgoing, QUEUE, Scene, Surroundings, Wire, Witness,
};
use super::queue::{Event, Queue, id, index};
use super::rng::Rng;
use super::schedule::Action;
use super::stats::Count;
use super::streams::{Carrier, Fabric, StreamWeather};
use super::system::{Message, Moment, Peer, System};

const SECOND: u64 = 1_000_000_000;
/// Messages that a node reads at once: small, so that thousands of nodes fit.
const RECEIVE: usize = 4;
const TRANSMIT: usize = 2;

/// Several machines on a network. Everything follows from the seed and from what is called.
///
/// Nodes are numbered from 0; those numbers panic that are not a node's. Time is the world's own
/// and begins at zero.
pub struct World<S: System> {
    /// The time, in nanoseconds.
    pub now: u64,
    /// The nodes, by number.
    pub nodes: Vec<Node<S>>,
    /// What is to happen.
    pub queue: Queue<S::Event, Peer<S>, S::Address>,
    /// What messages are on their way, and what becomes of them.
    pub network: Network<Peer<S>, S::Address>,
    /// Chance.
    pub rng: Rng,
    /// What the system adds to the kernel.
    pub system: S,
    /// The schedule's actions, by time.
    pub actions: Rc<[Action<S::Fault>]>,
    /// Messages sent since the last full second.
    pub(super) sent_lately: u64,
    second: u64,
    /// Events since time last passed.
    at_once: u64,
    outgoing: Vec<Outgoing<S>>,
    /// All connections.
    pub(super) fabric: Rc<RefCell<Fabric<Peer<S>>>>,
    pub(super) stream_weather: StreamWeather,
    /// The world has come to an end before its time.
    pub over: bool,
}

impl<S: System> World<S> {
    /// So many nodes on a network, none of them started.
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
            sent_lately: 0,
            second: 0,
            at_once: 0,
            outgoing: Vec::new(),
            fabric: Rc::default(),
            stream_weather: StreamWeather::default(),
            over: false,
        }
    }

    /// Carries out these actions when they are due.
    pub fn schedule(&mut self, actions: Rc<[Action<S::Fault>]>) {
        for (at, action) in actions.iter().enumerate() {
            self.queue.push(action.at_us * 1_000, Event::Act(id(at)));
        }
        self.actions = actions;
    }

    /// Schedules an event of the system's own.
    pub fn later(&mut self, at: u64, event: S::Event) {
        self.queue.push(at, Event::Own(event));
    }

    /// Schedules an event of the system's own for a node's process. It is dropped if the process is dead by then and another
    /// one runs.
    pub fn later_in_life(&mut self, node: usize, at: u64, event: S::Event) {
        let life = self.nodes[node].life;
        let node = id(node);
        self.queue.push(at, Event::Life { node, life, event });
    }

    /// The world's time, from its beginning.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.now)
    }

    /// How many nodes there are, dead ones included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node's machine; `None`: its process is dead.
    pub fn machine(&self, at: usize) -> Option<&S::Machine> {
        self.nodes[at].driver.as_ref().map(Driver::machine)
    }

    /// The nodes whose processes are alive.
    pub fn live(&self) -> impl Iterator<Item = usize> + '_ {
        let alive = |&at: &usize| self.nodes[at].driver.is_some();
        (0..self.nodes.len()).filter(alive)
    }

    /// Whether there were so many violations that the world stands still.
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// Lets time pass. Ends early if the world is over: see [`is_over`](Self::is_over).
    pub fn run(&mut self, time: Duration) {
        self.run_watching(time, |_| true);
    }

    /// Lets time pass until something is so, and says how long that took; `None` if it was not
    /// within `limit`. It is looked at after every event.
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
        self.run_watching(limit, |world| {
            is_so = so(world);
            !is_so
        });
        is_so.then(|| Duration::from_nanos(self.now - start))
    }

    /// Lets time pass as long as `watch` says so after each event.
    pub fn run_watching(&mut self, time: Duration, mut watch: impl FnMut(&Self) -> bool) {
        let end = self.now.saturating_add(nanos(time));
        while !self.over {
            let Some((at, event)) = self.queue.pop_by(end) else {
                self.now = end;
                return;
            };
            self.move_to(at);
            self.happen(event);
            self.system.after_event();
            if !watch(self) {
                return;
            }
        }
    }

    fn move_to(&mut self, at: u64) {
        if at > self.now {
            self.now = at;
            self.at_once = 0;
            if at >= self.second + SECOND {
                self.second = at;
                self.sent_lately = 0;
            }
        }
        self.system.count(Count::Event);
        self.at_once += 1;
        // Far more than any rule of a protocol leads to.
        let squared = (self.nodes.len() * self.nodes.len()) as u64;
        if self.at_once > 100_000 + 100 * squared || self.sent_lately > 200_000 + 200 * squared {
            self.system.storm(self.now, self.sent_lately);
            self.over = true;
        }
        self.over |= self.system.is_enough();
    }

    fn happen(&mut self, event: Event<S::Event, Peer<S>, S::Address>) {
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
            Event::Stream(pipe, to) => self.arrive(pipe, to),
            Event::GiveUp(pipe, side) => self.give_up(pipe, side),
            Event::Wake(at) => self.wake(index(at)),
            Event::Free(at) => self.go_on(index(at)),
            Event::Act(action) => {
                let actions = Rc::clone(&self.actions);
                S::act(self, &actions[index(action)].fault);
            }
            Event::Own(event) => S::happen(self, event),
            Event::Life { node, life, event } => {
                if self.nodes[index(node)].life == life {
                    S::happen(self, event);
                }
            }
        }
    }

    fn deliver(&mut self, to: usize, message: &Message<S>) {
        let now = self.now;
        let node = &mut self.nodes[to];
        let Message::<S> { from, bytes, .. } = message;
        let fits = bytes.len() <= S::HEADER_LEN + node.mtu;
        if node.driver.is_none() || node.unplugged || !fits || !S::takes(&node.own, message.to) {
            return;
        }
        if node.deaf {
            return self.meet(Trouble::Deaf);
        }
        if node.inbox.len() >= QUEUE {
            return self.system.count(Count::Overflowed);
        }
        node.inbox.push_back(Arrived {
            from: *from,
            bytes: bytes.clone(),
            at: node.clock.monotonic(now),
        });
        if node.paused.is_none() && node.busy_until <= now {
            self.turn(to, true);
        }
    }

    /// A wake-up; one that has been overtaken by an earlier one is no longer of use.
    fn wake(&mut self, at: usize) {
        let now = self.now;
        let node = &mut self.nodes[at];
        if node.armed != now {
            return;
        }
        node.armed = NEVER;
        if node.is_running() && node.busy_until <= now {
            if self.deadline(at) <= now {
                self.turn(at, false);
            } else {
                self.arm(at);
            }
        }
    }

    /// A process is free again, or goes on: whatever waits for it is there at once.
    fn go_on(&mut self, at: usize) {
        let node = &self.nodes[at];
        if !node.is_running() || node.busy_until > self.now {
            return;
        }
        let stirs = self.stirs(at);
        if !node.inbox.is_empty() || stirs || self.deadline(at) <= self.now {
            let arrived = stirs || !self.nodes[at].inbox.is_empty();
            self.turn(at, arrived);
        } else {
            self.arm(at);
        }
    }

    /// Whether a node has to look at its connections.
    fn stirs(&self, at: usize) -> bool {
        if !S::Streams::ANY {
            return false;
        }
        let streams = self.nodes[at].streams.as_ref();
        streams.is_some_and(Carrier::is_due) || self.fabric.borrow().has_news(at)
    }

    /// When the node's machine wants to be woken, by the world's time.
    fn deadline(&self, at: usize) -> u64 {
        let node = &self.nodes[at];
        let due = node.driver.as_ref().and_then(Driver::deadline);
        due.map_or(NEVER, |due| node.clock.world_at(due))
    }

    /// Sees to it that the node is woken in time. An earlier wake-up that is scheduled already
    /// will do: it finds out that it is early.
    fn arm(&mut self, at: usize) {
        let due = self.deadline(at).max(self.now);
        let node = &mut self.nodes[at];
        if due < node.armed {
            node.armed = due;
            self.queue.push(due, Event::Wake(id(at)));
        }
    }

    /// One turn of the daemon's loop.
    pub(super) fn turn(&mut self, at: usize, arrived: bool) {
        let node = &self.nodes[at];
        let late = node.clock.now(self.now + node.slow);
        self.input(at, |driver, now, surroundings| {
            // The simulated link never fails to receive.
            let _ = driver.turn(now, arrived, || late, surroundings);
        });
    }

    /// Gives a machine an input; what comes of it is carried, checked and scheduled. Nothing
    /// happens if the process is dead.
    pub fn input(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut Driver<S::Machine>, Now, &mut Surroundings<'_, '_, S>),
    ) {
        let node = &mut self.nodes[at];
        let Some(driver) = node.driver.as_mut() else {
            return;
        };
        let scene = Scene {
            moment: Moment {
                at: self.now,
                node: at,
            },
            parts: RefCell::new((&mut self.system, &mut node.own)),
        };
        let mut wire = Wire {
            scene: &scene,
            inbox: &mut node.inbox,
            streams: node.streams.as_mut(),
            outgoing: &mut self.outgoing,
            late: node.clock.now(self.now + node.slow),
            rng: &mut self.rng,
            refuse: node.refuse,
            refuse_unicast: node.unicast_refused,
            longest: S::HEADER_LEN + node.mtu,
        };
        let mut surroundings = Surroundings {
            link: Some(&mut wire),
            store: &mut Disk {
                scene: &scene,
                full: node.disk_full,
            },
            observer: &mut Witness(&scene),
        };
        act(driver, node.clock.now(self.now), &mut surroundings);
        let leaves = self.now + node.slow;
        if node.slow > 0 {
            node.busy_until = leaves;
            self.queue.push(leaves, Event::Free(id(at)));
        }
        let mut outgoing = std::mem::take(&mut self.outgoing);
        for Outgoing { message, label } in outgoing.drain(..) {
            self.carry(message, label, leaves);
        }
        self.outgoing = outgoing;
        self.carry_streams(leaves);
        S::look_at(self, at);
        if self.stirs(at) && self.nodes[at].slow == 0 {
            self.queue.push(self.now, Event::Free(id(at)));
        }
        self.arm(at);
    }

    /// A dead node's process is there again and runs this machine.
    pub fn launch(&mut self, at: usize, machine: S::Machine) {
        let batches = (
            ReceiveBatch::of(RECEIVE, S::LONGEST),
            TransmitBatch::of(TRANSMIT, S::LONGEST),
        );
        let node = &mut self.nodes[at];
        node.life += 1;
        node.up_since = self.now;
        node.streams = Some(S::listen(&self.fabric, at, &node.own));
        node.driver = Some(Driver::with_batches(machine, batches.0, batches.1));
    }

    /// A process dies at once. What has arrived for it is lost.
    pub fn end(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.driver = None;
        node.inbox.clear();
        node.paused = None;
        node.armed = NEVER;
        node.busy_until = 0;
        node.streams = None;
        if S::Streams::ANY {
            self.fabric.borrow_mut().crash(at);
            self.carry_streams(self.now);
        }
    }

    /// A host loses its power: its process dies, and nobody hears of that before the host can be reached again.
    pub fn lose_power(&mut self, at: usize) {
        self.end(at);
        self.nodes[at].unplugged = true;
    }

    /// From now on kernels give up a connection on which nothing is acknowledged for so long, in nanoseconds.
    pub fn set_patience(&mut self, patience: u64) {
        self.fabric.borrow_mut().patience = Some(patience);
    }

    /// A node sends from the address that it has now.
    pub fn move_connections(&mut self, at: usize) {
        let address = S::address(at, &self.nodes[at].own);
        self.fabric.borrow_mut().set_address(at, address);
    }

    /// The process stands still; what arrives waits for it.
    pub fn pause(&mut self, at: usize) {
        if self.nodes[at].is_running() {
            self.meet(Trouble::Pause);
            self.nodes[at].paused = Some(S::Missed::default());
        }
    }

    /// The process goes on.
    pub fn resume(&mut self, at: usize) {
        if let Some(missed) = self.nodes[at].paused.take() {
            self.go_on(at);
            S::resumed(self, at, missed);
        }
    }

    /// A node's monotonic clock runs faster by so many millionths from now on.
    pub fn set_rate(&mut self, at: usize, millionths: i32) {
        self.nodes[at].clock.set_rate(self.now, millionths);
        // Its deadline is at another of the world's times now.
        self.arm(at);
    }
}
