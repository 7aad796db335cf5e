//! The world: virtual time that jumps from event to event, and what each event does.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use ring_codec::lab2::{ETHERNET_HEADER_LEN, Token};
use ring_proto::lab2::Constants;
use ring_proto::time::{Now, nanos};

use super::node::{Books, Disk, NEVER, Node, Outgoing, QUEUE, Scene, Wire, Witness};
use super::outcome::Rule;
use super::plan::Action;
use super::queue::{Bytes, Queue, What};
use super::record::Record;
use super::rng::{Rng, Stream};
use super::segment::Segment;
use super::settings::FaultKind;
use super::subject::Subject;
use super::words::{ip, mac};
use crate::driver::{Driver, Environment};

/// A table up to this size is looked at whenever it grows, a larger one when it doubles.
const SMALL_TABLE: usize = 64;
const SECOND: u64 = 1_000_000_000;

/// A node's number as events carry it. There are never more nodes than 65,536.
pub(super) fn id(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn index(id: u32) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}

/// Several machines on a segment. Everything follows from the seed and from what is called.
///
/// Nodes are numbered from 0; those numbers panic that are not a node's. Time is the world's own
/// and begins at zero.
pub struct World<M: Subject> {
    pub(super) now: u64,
    pub(super) nodes: Vec<Node<M>>,
    pub(super) queue: Queue,
    pub(super) segment: Segment,
    pub(super) rng: Rng,
    pub(super) books: Books,
    pub(super) constants: Rc<Constants>,
    pub(super) plan: Rc<[Action]>,
    /// Who believes to hold a token.
    pub(super) owners: Vec<usize>,
    /// Frames sent since the last full second.
    pub(super) sent_lately: u64,
    second: u64,
    /// Events since time last passed.
    at_once: u64,
    outgoing: Vec<Outgoing>,
    pub(super) jobs: u32,
    /// There is a station that asks for the token and never takes it.
    pub(super) is_asked: bool,
    /// Who has done its work wants the token again at once, for so much more, in nanoseconds.
    pub(super) again: Option<u64>,
    /// Nothing goes wrong that voids a lease.
    pub(super) orderly: bool,
    /// The world has come to an end before its time.
    pub(super) over: bool,
}

type Surroundings<'a, 'b> = Environment<'a, Wire<'b>, Disk<'b>, Witness<'b>>;

impl<M: Subject> World<M> {
    /// So many nodes on a clear segment, none of them started.
    ///
    /// # Panics
    /// If there are more than 65,536, or the constants cannot work.
    #[must_use]
    pub fn new(nodes: usize, constants: Constants, seed: u64) -> Self {
        assert!(nodes <= 1 << 16, "the world has room for 65,536 nodes");
        if let Err(error) = constants.check() {
            panic!("{error}");
        }
        let mut rng = Rng::new(seed, Stream::World);
        let constants = Rc::new(constants);
        let nodes = (0..nodes)
            .map(|at| {
                let epoch = SECOND + rng.below(1_000 * SECOND);
                Node::new(mac(at), ip(at, 0), epoch, Rc::clone(&constants))
            })
            .collect();
        Self {
            now: 0,
            nodes,
            queue: Queue::default(),
            segment: Segment::new((20_000, 80_000)),
            rng,
            books: Books::default(),
            constants,
            plan: Rc::from([]),
            owners: Vec::new(),
            sent_lately: 0,
            second: 0,
            at_once: 0,
            outgoing: Vec::new(),
            jobs: 0,
            is_asked: false,
            again: None,
            orderly: false,
            over: false,
        }
    }

    /// Shows every detail of what happens from now on to somebody.
    pub fn record(&mut self, record: Box<dyn Record>) {
        self.books.record = Some(record);
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
    pub(super) fn run_watching(&mut self, time: Duration, mut watch: impl FnMut(&Self) -> bool) {
        let end = self.now.saturating_add(nanos(time));
        while !self.over {
            let Some((at, what)) = self.queue.pop_by(end) else {
                self.now = end;
                return;
            };
            self.move_to(at);
            self.happen(what);
            self.tell_broken();
            if !watch(self) {
                return;
            }
        }
    }

    /// Tells whoever records the run what was broken since.
    pub(super) fn tell_broken(&mut self) {
        let Books { checks, record, .. } = &mut self.books;
        if let Some(record) = record {
            for violation in checks.untold() {
                record.broken(violation);
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
        self.books.stats.events += 1;
        self.at_once += 1;
        // Far more than any rule of the protocol leads to.
        let squared = (self.nodes.len() * self.nodes.len()) as u64;
        if self.at_once > 100_000 + 100 * squared || self.sent_lately > 200_000 + 200 * squared {
            let what = format!("{} in less than a second", self.sent_lately);
            self.books.checks.broken(self.now, None, Rule::Storm, what);
            self.over = true;
        }
        self.over |= self.books.checks.is_enough();
    }

    fn happen(&mut self, what: What) {
        match what {
            What::One { to, bytes } => self.deliver(index(to), bytes),
            What::All {
                from,
                bytes,
                except,
            } => {
                let except = except.as_deref().unwrap_or_default();
                for to in 0..self.nodes.len() {
                    if id(to) != from && (except.is_empty() || !except.contains(&id(to))) {
                        self.deliver(to, bytes.clone());
                    }
                }
            }
            What::Wake(at) => self.wake(index(at)),
            What::Free(at) => self.go_on(index(at)),
            What::Act(action) => {
                let plan = Rc::clone(&self.plan);
                self.act(&plan[index(action)].fault);
            }
            What::Ask => self.ask_again(),
            What::Done(at, job) => self.work_done(index(at), job),
            What::Errand(at, errand) => self.go_on_with_errand(index(at), errand),
        }
    }

    fn deliver(&mut self, to: usize, bytes: Bytes) {
        let now = self.now;
        let node = &mut self.nodes[to];
        let fits = bytes.len() <= ETHERNET_HEADER_LEN + node.mtu;
        if node.driver.is_none() || node.unplugged || !fits {
            return;
        }
        if node.deaf {
            return self.met(FaultKind::Deaf);
        }
        if node.inbox.len() >= QUEUE {
            self.books.stats.overflowed += 1;
            return;
        }
        node.inbox.push_back((bytes, node.clock.monotonic(now)));
        if node.paused.is_none() && node.busy_until <= now {
            self.turn(to, true);
        }
    }

    /// A wake-up; one that has been overtaken by an earlier one is of no use any more.
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
    pub(super) fn go_on(&mut self, at: usize) {
        let node = &self.nodes[at];
        if !node.is_running() || node.busy_until > self.now {
            return;
        }
        if !node.inbox.is_empty() || self.deadline(at) <= self.now {
            let arrived = !self.nodes[at].inbox.is_empty();
            self.turn(at, arrived);
        } else {
            self.arm(at);
        }
    }

    /// When the node's machine wants to be woken, by the world's time.
    fn deadline(&self, at: usize) -> u64 {
        let node = &self.nodes[at];
        let due = node.driver.as_ref().and_then(Driver::deadline);
        due.map_or(NEVER, |due| node.clock.world_at(due))
    }

    /// Sees to it that the node is woken in time. An earlier wake-up that is scheduled already
    /// will do: it finds out that it is early.
    pub(super) fn arm(&mut self, at: usize) {
        let due = self.deadline(at).max(self.now);
        let node = &mut self.nodes[at];
        if due < node.armed {
            node.armed = due;
            self.queue.push(due, What::Wake(id(at)));
        }
    }

    /// One turn of the daemon's loop.
    fn turn(&mut self, at: usize, arrived: bool) {
        let node = &self.nodes[at];
        let late = node.clock.now(self.now + node.slow);
        self.input(at, |driver, now, surroundings| {
            // The simulated link never fails to receive.
            let _ = driver.turn(now, arrived, || late, surroundings);
        });
    }

    /// Gives a machine an input; what comes of it is carried, checked and scheduled. Nothing
    /// happens if the process is dead.
    pub(super) fn input(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut Driver<M>, Now, &mut Surroundings<'_, '_>),
    ) {
        let node = &mut self.nodes[at];
        let Some(driver) = node.driver.as_mut() else {
            return;
        };
        let scene = Scene {
            at: self.now,
            node: at,
            durable: &node.durable,
            stamps: &node.stamps,
            books: RefCell::new(&mut self.books),
            replies: Cell::new(0),
            expired: Cell::new(false),
            grown: Cell::new(0),
        };
        let mut wire = Wire {
            scene: &scene,
            inbox: &mut node.inbox,
            outgoing: &mut self.outgoing,
            rng: &mut self.rng,
            refuse: node.refuse,
            refuse_unicast: node.unicast_refused,
            mtu: node.mtu,
        };
        let mut surroundings = Environment {
            link: Some(&mut wire),
            store: &mut Disk {
                scene: &scene,
                full: node.disk_full,
            },
            observer: &mut Witness(&scene),
        };
        act(driver, node.clock.now(self.now), &mut surroundings);
        let grown = scene.grown.get();
        let leaves = self.now + node.slow;
        if node.slow > 0 {
            node.busy_until = leaves;
            self.queue.push(leaves, What::Free(id(at)));
        }
        let mut outgoing = std::mem::take(&mut self.outgoing);
        for Outgoing { bytes, to, kind } in outgoing.drain(..) {
            self.carry(Some(at), bytes, to, kind, leaves);
        }
        self.outgoing = outgoing;
        self.look_at(at, grown);
        self.arm(at);
    }

    /// What a node believes now, and whether it may.
    fn look_at(&mut self, at: usize, grown: usize) {
        let node = &mut self.nodes[at];
        let Some(driver) = node.driver.as_ref() else {
            return;
        };
        let machine = driver.machine();
        let (held, may_use) = (machine.held(), machine.may_use());
        if grown > 0 && (grown <= SMALL_TABLE || grown.is_power_of_two()) {
            let members = machine.members_in_order();
            let max = self.constants.max_members;
            self.books.checks.table(self.now, at, members, max);
        }
        let finished = machine.is_finished();
        node.may_use = may_use;
        if held != node.held {
            self.hold(at, held);
        }
        if may_use {
            self.begin_work(at);
        }
        self.look_at_quorum(at);
        if self.orderly {
            self.look_at_lease(at);
        }
        self.look_at_errand(at);
        if finished {
            self.die(at);
        }
    }

    /// A node holds another token than before, or none any more.
    fn hold(&mut self, at: usize, held: Option<Token>) {
        let node = &mut self.nodes[at];
        node.held = held;
        let (mac, before) = (node.mac, node.last_held);
        let Some(token) = held else {
            self.owners.retain(|&owner| owner != at);
            return;
        };
        if !self.owners.contains(&at) {
            self.owners.push(at);
        }
        self.nodes[at].last_held = held;
        self.books.stats.tenures += 1;
        let checks = &mut self.books.checks;
        checks.exempt.hold(mac, &token);
        let (owners, nodes) = (&self.owners, &self.nodes);
        checks.tenure(self.now, at, &token, before.as_ref(), || {
            let mut others = owners.iter().copied().filter(|&other| other != at);
            others.find(|&other| nodes[other].held == held)
        });
    }

    /// What the segment does to frames from now on.
    pub fn set_weather(&mut self, weather: super::Weather) {
        self.segment.weather = weather;
        self.segment.look_up();
    }

    /// Cuts the segment: only nodes of the same group hear each other. Nodes that `groups` does not
    /// reach are in group 0; so no groups at all heal every cut.
    pub fn part(&mut self, groups: &[u8]) {
        for (at, node) in self.nodes.iter_mut().enumerate() {
            node.group = groups.get(at).copied().unwrap_or(0);
        }
        self.segment.parted = self.nodes.iter().any(|node| node.group != 0);
        self.segment.look_up();
    }
}
