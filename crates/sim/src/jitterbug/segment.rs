//! Jitterbug as the kernel sees it: its addresses, its datagrams, and what becomes of them.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ring_codec::jitterbug::Message;
use ring_proto::jitterbug::{Event, Jitterbug, Options};
use ring_runtime::driver::Connections;

use super::checks::Checks;
use super::node::{Own, Told};
use super::notation::{broadcast, host_of, line, node_of};
use super::outcome::{Rule, Stats};
use super::plan::{DataPlan, Fault};
use super::settings::FaultKind;
use crate::kernel::kinds::Kind as _;
use crate::kernel::stats::Count;
use crate::kernel::streams::{Fabric, Tcp};
use crate::kernel::system::{Listens, Moment, Route, System};
use crate::kernel::trace::Trace;
use crate::kernel::world;

/// Connections of a node at a time: the 16 that may come in, its own, and some to be turned away.
const SLOTS: u16 = 24;
/// The longest datagram, and more.
const LONGEST: usize = 64;

/// Nodes on a segment.
pub(super) type World = world::World<Segment>;

/// What happens in this system only, to a node's process.
#[derive(Debug)]
pub enum Due {
    /// A program has ended: the outcome of this number.
    Job {
        node: usize,
        serial: u64,
        succeeds: bool,
    },
    /// Something reaches a process that was busy.
    Told { node: usize, what: Told },
    /// A process ends of its own.
    End { node: usize },
}

/// What is known of the whole segment, and what is counted of a run.
#[derive(Debug)]
pub struct Segment {
    pub checks: Checks,
    pub stats: Stats,
    /// What processes are started with, but for one with other times.
    pub options: Options,
    /// What each is started with.
    each: Vec<Options>,
    /// compute_timeout, in nanoseconds.
    pub compute_timeout: u64,
    /// The most entries of a list.
    pub max_nodes: usize,
    pub data: DataPlan,
    /// Datagrams that were read in the present input, and those sent to one node.
    pub heard: u64,
    pub answers: u64,
    /// What happened, line by line.
    pub trace: Trace,
    /// The faults have ended: who ends is started again.
    pub is_calm: bool,
}

impl Segment {
    /// One on which nothing has happened.
    pub fn new(options: Options, each: Vec<Options>, data: DataPlan) -> Self {
        Self {
            checks: Checks::default(),
            stats: Stats::default(),
            compute_timeout: ring_proto::time::nanos(options.compute_timeout),
            max_nodes: usize::try_from(options.max_nodes).unwrap_or(usize::MAX),
            options,
            each,
            data,
            heard: 0,
            answers: 0,
            trace: Trace::default(),
            is_calm: false,
        }
    }

    /// What a process is started with.
    pub fn options_of(&self, node: usize) -> Options {
        self.each.get(node).copied().unwrap_or(self.options)
    }

    pub fn met(&mut self, kind: FaultKind) {
        self.stats.note_met(kind);
        self.checks.exempt.is_disturbed |= disturbs(kind);
    }
}

/// Whether the fourth promise is void once that has happened: it is of segments without loss, cuts and stalls.
pub(super) const fn disturbs(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Drop
            | FaultKind::Reorder
            | FaultKind::Delay
            | FaultKind::Corrupt
            | FaultKind::Oneway
            | FaultKind::Partition
            | FaultKind::Deaf
            | FaultKind::Broadcast
            | FaultKind::Refuse
            | FaultKind::Stall
            | FaultKind::Slow
    )
}

impl System for Segment {
    type Machine = Jitterbug;
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
        own.address()
    }

    fn takes(own: &Own, to: SocketAddr) -> bool {
        to == broadcast() || to == own.address()
    }

    fn listens(own: &Own, to: SocketAddr) -> Listens {
        if to.ip() != own.ip {
            Listens::Nowhere
        } else if to.port() == own.tcp_port {
            Listens::Yes
        } else {
            Listens::No
        }
    }

    fn listen(fabric: &Rc<RefCell<Fabric<SocketAddr>>>, node: usize, own: &Own) -> Self::Streams {
        let tcp = Tcp::of(fabric, node, own.address(), host_of).resetting();
        Connections::new(tcp, SLOTS)
    }

    fn is_broadcast(_: &[u8], to: SocketAddr) -> bool {
        to == broadcast()
    }

    fn route(world: &World, to: SocketAddr) -> Route {
        if to == broadcast() {
            return Route::All;
        }
        Route::One(node_of(to).filter(|&node| node < world.len()))
    }

    fn sent(
        &mut self,
        moment: Moment,
        _: &mut Own,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Option<(SocketAddr, Option<&'static str>)> {
        let Moment { at, node } = moment;
        let message = Message::decode_datagram(bytes);
        // A node asks others whether they are there, a few in each turn.
        let asks = matches!(message, Ok(Message::Tr1 { terms: Some(terms), .. }) if terms.asks);
        if let Ok(Message::Tr1 {
            terms: Some(terms), ..
        }) = message
        {
            // A node that says that it follows a token keeps that from being alone.
            self.checks.chain.held(terms.follows, node);
        }
        let Ok(message @ (Message::Tr1 { .. } | Message::Tr2 { .. })) = message else {
            let found = &mut self.checks.found;
            found.broken(at, Some(node), Rule::Valid, line(bytes));
            return None;
        };
        self.answers += u64::from(to != broadcast() && !asks);
        self.trace.note(at, || {
            format!("n{node} sends to {}: {}", to.ip(), line(bytes))
        });
        Some((to, Some(message.kind().name())))
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
            self.trace.note(leaves, || {
                format!("injected to {}: {}", to.ip(), line(bytes))
            });
        }
        self.stats.mix(leaves, bytes);
    }

    fn heard(&mut self, moment: Moment, bytes: &[u8], age: Duration) {
        self.stats.delivered += 1;
        self.heard += 1;
        let node = moment.node;
        self.trace.note(moment.at, || {
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
        self.checks.exempt.is_disturbed |= match what {
            Count::Event => false,
            Count::Overflowed => true,
            Count::Met(trouble) => FaultKind::of(trouble).is_some_and(disturbs),
        };
    }

    fn storm(&mut self, now: u64, sent: u64) {
        let what = format!("{sent} in less than a second");
        self.checks.found.broken(now, None, Rule::Storm, what);
    }

    fn is_enough(&self) -> bool {
        self.checks.found.is_enough()
    }

    fn happen(world: &mut World, event: Due) {
        match event {
            Due::Job {
                node,
                serial,
                succeeds,
            } => world.job_ended(node, serial, succeeds),
            Due::Told { node, what } => world.tell(node, what),
            Due::End { node } => {
                world.die(node);
                if world.system.is_calm {
                    world.start(node);
                }
            }
        }
    }

    fn act(world: &mut World, fault: &Fault) {
        world.act(fault);
    }

    fn look_at(world: &mut World, at: usize) {
        world.look_at_node(at);
        if std::mem::take(&mut world.nodes[at].own.left) {
            world.later_in_life(at, world.now, Due::End { node: at });
        }
    }

    fn resumed(world: &mut World, at: usize, missed: Vec<Told>) {
        for what in missed {
            world.tell(at, what);
        }
        world.look_at_use(at);
        world.look_at_stall(at);
    }
}
