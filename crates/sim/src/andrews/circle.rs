//! The coordinated ring as the kernel sees it: its addresses, its datagrams, and what becomes of them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ring_codec::andrews::{Election, Frame, Message};
use ring_proto::andrews::{Andrews, Event, Job, Outcome};
use ring_runtime::driver::Connections;

use super::clients::Clients;
use super::node::{Own, Told};
use super::notation::{line, node_of};
use super::outcome::{Excuse, Rule, Stats};
use super::plan::{Fault, Schedule};
use super::service::Fate;
use super::settings::FaultKind;
use super::tables::Tables;
use crate::kernel::checks::Found;
use crate::kernel::stats::Count;
use crate::kernel::streams::{Fabric, Tcp};
use crate::kernel::system::{Moment, Route, System};
use crate::kernel::trace::Trace;
use crate::kernel::world;

/// Connections of a node at a time, as many as the program has: half of them may be those that the machine is done with, and
/// the 22 that it needs, with one to turn another away for, are fewer than the rest.
const SLOTS: u16 = 64;
/// The longest datagram that is sent, and more.
const LONGEST: usize = 64;

/// Nodes of a list, and their database.
pub(super) type World = world::World<Circle>;

/// What happens in this system only.
#[derive(Debug)]
pub enum Due {
    /// A transaction of a node's life is carried out, or not.
    Transaction {
        node: usize,
        life: u32,
        job: Job,
        fate: Fate,
    },
    /// Its answer comes.
    Answer {
        node: usize,
        life: u32,
        job: u64,
        outcome: Outcome,
        is_last: bool,
    },
    /// Something reaches a process that was busy.
    Told { node: usize, what: Told },
    /// A process ends of its own.
    End { node: usize },
    /// A client asks again.
    Again { node: usize, key: u64 },
}

/// What is known of the whole ring, and what is counted of a run.
#[derive(Debug)]
pub struct Circle {
    pub found: Found<Rule, Excuse>,
    pub stats: Stats,
    /// What the nodes are started with.
    pub schedule: Schedule,
    /// database-timeout and request-timeout, in nanoseconds.
    pub database_timeout: u64,
    pub request_timeout: u64,
    pub tables: Tables,
    pub clients: Clients,
    /// When the coordinator's beat, or its row, has changed lately.
    pub beats: VecDeque<u64>,
    /// How many nodes have a token, and since when none has had one.
    pub holders: usize,
    pub idle_since: u64,
    /// What happened, line by line.
    pub trace: Trace,
    /// The faults have ended: who ends is started again.
    pub is_calm: bool,
}

impl Circle {
    /// One in which nothing has happened.
    pub fn new(schedule: &Schedule) -> Self {
        let given = &schedule.options;
        Self {
            found: Found::default(),
            stats: Stats::default(),
            database_timeout: given.database_us * 1_000,
            request_timeout: given.request_us * 1_000,
            schedule: schedule.clone(),
            tables: Tables::default(),
            clients: Clients::default(),
            beats: VecDeque::new(),
            holders: 0,
            idle_since: 0,
            trace: Trace::default(),
            is_calm: false,
        }
    }

    pub fn met(&mut self, kind: FaultKind) {
        self.stats.note_met(kind);
    }

    /// A node has the token, or no longer.
    pub fn holds(&mut self, at: u64, own: &mut Own, holds: bool) {
        if std::mem::replace(&mut own.process.holds, holds) == holds {
            return;
        }
        if holds {
            self.holders += 1;
            if self.holders == 2 {
                self.found.excuse(Excuse::TwoTokens);
            }
        } else {
            self.holders -= 1;
            self.idle_since = at;
        }
    }
}

impl System for Circle {
    type Machine = Andrews;
    type Streams = Connections<Tcp<SocketAddr>, SocketAddr>;
    type Address = SocketAddr;
    type Label = Option<&'static str>;
    type Node = Own;
    type Missed = Vec<Told>;
    type Event = Due;
    type Fault = Fault;

    const HEADER_LEN: usize = 0;
    const LONGEST: usize = LONGEST;
    const FLOODED: bool = false;
    /// UDP's checksum finds few flipped bits at all times.
    const CHECKSUM_FINDS: u16 = 1_000;

    fn address(_: usize, own: &Own) -> SocketAddr {
        own.address
    }

    fn listen(fabric: &Rc<RefCell<Fabric<SocketAddr>>>, node: usize, own: &Own) -> Self::Streams {
        Connections::new(Tcp::of(fabric, node, own.address, node_of), SLOTS)
    }

    fn is_broadcast(_: &[u8], _: SocketAddr) -> bool {
        false
    }

    fn route(world: &World, to: SocketAddr) -> Route {
        Route::One(node_of(to).filter(|&node| node < world.len()))
    }

    fn sent(
        &mut self,
        moment: Moment,
        own: &mut Own,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Option<(SocketAddr, Option<&'static str>)> {
        let Moment { at, node } = moment;
        let message = Frame::decode_datagram(bytes).map(|frame| frame.message);
        match message {
            Ok(Message::Join | Message::SuccessorRequest) => {}
            Ok(Message::Successor { .. }) => own.process.ledger.answers += 1,
            Ok(Message::CoordinatorElection { election }) => {
                own.process.ledger.oks += u64::from(matches!(election, Election::BullyOk));
            }
            Ok(_) | Err(_) => {
                let found = &mut self.found;
                found.broken(at, Some(node), Rule::Valid, line(bytes));
                return None;
            }
        }
        self.trace
            .note(at, || format!("n{node} sends to {to}: {}", line(bytes)));
        Some((to, message.ok().map(|message| message.kind().name())))
    }

    fn carried(
        &mut self,
        leaves: u64,
        _: Option<usize>,
        bytes: &[u8],
        to: SocketAddr,
        kind: Option<&'static str>,
    ) {
        self.stats.note_carried(kind);
        if kind.is_none() {
            self.trace
                .note(leaves, || format!("injected to {to}: {}", line(bytes)));
        }
        self.stats.mix(leaves, bytes);
    }

    fn heard(&mut self, moment: Moment, bytes: &[u8], age: Duration) {
        self.stats.delivered += 1;
        let Moment { at, node } = moment;
        self.trace.note(at, || {
            format!("n{node} reads {} ({age:?} old)", line(bytes))
        });
    }

    fn observed(&mut self, moment: Moment, own: &mut Own, event: &Event) {
        let Moment { at, node } = moment;
        self.trace.note(at, || format!("n{node} tells {event:?}"));
        self.told(at, own, node, event);
    }

    fn stored(_: &mut Own, durable: &std::convert::Infallible) {
        match *durable {}
    }

    fn count(&mut self, what: Count) {
        self.stats.count(what);
    }

    fn storm(&mut self, now: u64, sent: u64) {
        let what = format!("{sent} in less than a second");
        self.found.broken(now, None, Rule::Storm, what);
    }

    fn is_enough(&self) -> bool {
        self.found.is_enough()
    }

    fn happen(world: &mut World, event: Due) {
        match event {
            Due::Transaction {
                node,
                life,
                job,
                fate,
            } => world.transact(node, life, &job, fate),
            Due::Answer {
                node,
                life,
                job,
                outcome,
                is_last,
            } if world.nodes[node].life == life => world.answer(node, job, outcome, is_last),
            Due::Answer { .. } => {}
            Due::Told { node, what } => world.tell(node, what),
            Due::End { node } => {
                world.die(node);
                if world.system.is_calm {
                    world.start(node, false);
                }
            }
            Due::Again { node, key } => world.ask(node, true, Some(key)),
        }
    }

    fn act(world: &mut World, fault: &Fault) {
        world.act(fault);
    }

    fn look_at(world: &mut World, at: usize) {
        world.look_at_node(at);
        if std::mem::take(&mut world.nodes[at].own.process.left) {
            world.later_in_life(at, world.now, Due::End { node: at });
        }
    }

    fn resumed(world: &mut World, at: usize, missed: Vec<Told>) {
        for what in missed {
            world.tell(at, what);
        }
        world.begin_transaction(at);
    }
}
