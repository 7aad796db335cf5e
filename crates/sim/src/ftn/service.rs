//! FTN as the kernel sees it: its addresses, its datagrams, and what becomes of them.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ring_codec::ftn::{Datagram, Kind as Type, Message, ServerState};
use ring_proto::ftn::server;

use super::checks::Checks;
use super::node::{Doom, Kind, Own};
use super::notation::{is_stranger, line, node_of};
use super::outcome::{Rule, Stats};
use super::plan::Fault;
use super::settings::FaultKind;
use super::world::Setup;
use crate::kernel::stats::Count;
use crate::kernel::streams::{Fabric, NoStreams};
use crate::kernel::system::{Moment, Route, System};
use crate::kernel::trace::Trace;
use crate::kernel::world;
use ring_proto::ftn::station::{Event, Station};

/// The longest datagram that a socket takes, in bytes: UDP over IPv4 can carry no more.
pub(super) const SOCKET: usize = 65_507;
/// The longest that a path carries: fragments are lost. 1,280 bytes of IPv6, less its header and UDP's.
pub(super) const PATH: usize = 1_232;

/// Servers and clients on a network of datagrams.
pub(super) type World = world::World<Service>;

/// What happens in this system only, to a node's process.
#[derive(Debug)]
pub enum Due {
    /// A command under a token has ended: a job.
    Done { node: usize, token: usize, job: u32 },
    /// A program ends of its own.
    End { node: usize },
    /// A process that has died of what it sent starts again.
    Start { node: usize },
}

/// What is known of the whole service, and what is counted of a run.
#[derive(Debug, Default)]
pub struct Service {
    pub checks: Checks,
    pub stats: Stats,
    /// How many servers there are.
    pub servers: usize,
    /// Updates so far.
    pub updates: u64,
    /// What happened, line by line.
    pub trace: Trace,
    /// The faults have ended: who ends is started again.
    pub is_calm: bool,
    /// What processes are started with.
    pub setup: Option<Setup>,
}

impl Service {
    pub fn met(&mut self, kind: FaultKind) {
        self.stats.note_met(kind);
    }
}

impl System for Service {
    type Machine = Station;
    type Streams = NoStreams;
    type Address = SocketAddr;
    type Label = Option<&'static str>;
    type Node = Own;
    type Missed = ();
    type Event = Due;
    type Fault = Fault;

    const HEADER_LEN: usize = 0;
    const LONGEST: usize = SOCKET;
    const FLOODED: bool = false;
    /// UDP's checksum finds few flipped bits at all times.
    const CHECKSUM_FINDS: u16 = 1_000;

    fn address(_: usize, own: &Own) -> SocketAddr {
        own.address
    }

    fn takes(own: &Own, to: SocketAddr) -> bool {
        own.address == to
    }

    fn listen(_: &Rc<RefCell<Fabric<SocketAddr>>>, _: usize, _: &Own) -> NoStreams {
        NoStreams
    }

    fn is_broadcast(_: &[u8], _: SocketAddr) -> bool {
        false
    }

    fn route(world: &World, to: SocketAddr) -> Route {
        let node = node_of(to, world.system.servers);
        Route::One(node.filter(|&node| node < world.len()))
    }

    fn sent(
        &mut self,
        moment: Moment,
        own: &mut Own,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Option<(SocketAddr, Option<&'static str>)> {
        let Moment { at, node } = moment;
        if matches!(own.doom, Doom::Dead(_)) {
            return None;
        }
        let datagram = match Datagram::decode(bytes) {
            Ok(datagram) => datagram,
            Err(error) => {
                self.checks
                    .found
                    .broken(at, Some(node), Rule::Valid, error.to_string());
                return None;
            }
        };
        let message = datagram.message();
        if is_stranger(to) {
            let max = 26 + self.servers;
            self.checks.stranger_gets(at, node, to, bytes.len(), max);
            if !matches!(message, Message::Config { .. }) {
                let what = format!("a stranger gets {}", line(bytes));
                self.checks
                    .found
                    .broken(at, Some(node), Rule::Stranger, what);
            }
        }
        if let (Message::Grant { .. }, Kind::Server(server)) = (message, &mut own.kind)
            && server.state != Some(ServerState::Ready)
        {
            server.granted_early = Some(line(bytes));
        }
        self.trace
            .note(at, || format!("n{node} sends to {to}: {}", line(bytes)));
        let kind = message.kind();
        if let Doom::Waits(sends, for_so_long) = own.doom
            && Type::ALL.get(sends) == Some(&kind)
        {
            own.doom = Doom::Dead(for_so_long);
        }
        Some((to, Some(kind.name())))
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
                .note(leaves, || format!("replayed to {to}: {}", line(bytes)));
        }
        self.stats.mix(leaves, bytes);
    }

    fn heard(&mut self, moment: Moment, bytes: &[u8], age: Duration) {
        self.stats.delivered += 1;
        let node = moment.node;
        self.trace.note(moment.at, || {
            format!("n{node} reads {} ({age:?} old)", line(bytes))
        });
    }

    fn observed(&mut self, moment: Moment, own: &mut Own, event: &Event) {
        let Moment { at, node } = moment;
        if matches!(own.doom, Doom::Dead(_)) {
            return;
        }
        self.trace.note(at, || match event {
            Event::Server(event) => format!("n{node} tells {event:?}"),
            Event::Client(event) => format!("n{node} tells {event:?}"),
        });
        match (event, &mut own.kind) {
            (Event::Server(event), Kind::Server(_)) => self.server_told(moment, own, event),
            (Event::Client(event), Kind::Client(client)) => {
                self.client_told(at, node, client, event);
            }
            _ => {}
        }
    }

    fn stored(own: &mut Own, durable: &server::Durable) {
        if matches!(own.doom, Doom::Dead(_)) {
            return;
        }
        if let Some(server) = own.server_mut() {
            server.durable = *durable;
        }
    }

    fn count(&mut self, what: Count) {
        self.stats.count(what);
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
            Due::Done { node, token, job } => world.job_done(node, token, job),
            Due::End { node } => {
                world.die(node);
                if world.system.is_calm {
                    world.start(node);
                }
            }
            Due::Start { node } => world.start(node),
        }
    }

    fn act(world: &mut World, fault: &Fault) {
        world.act(fault);
    }

    fn look_at(world: &mut World, at: usize) {
        world.meet_doom(at);
        if at < world.system.servers {
            world.look_at_server(at);
        } else {
            world.look_at_client(at);
        }
    }

    fn resumed(world: &mut World, at: usize, (): ()) {
        if at < world.system.servers {
            world.look_at_server(at);
        }
    }
}

impl Service {
    fn server_told(&mut self, moment: Moment, own: &mut Own, event: &server::Event) {
        let Moment { at, node } = moment;
        let exempt = &mut self.checks.exempt;
        match event {
            server::Event::StateChanged { state } => {
                if let Some(server) = own.server_mut() {
                    server.state = Some(*state);
                    if *state == ServerState::Ready {
                        server.granted_early = None;
                    }
                }
            }
            server::Event::TookOver {
                warm,
                configuration,
            } => {
                exempt.note_take_over(at, node, *configuration, *warm);
                if *warm {
                    self.stats.counters.warm += 1;
                } else {
                    self.stats.counters.cold += 1;
                    exempt.note_server_lost(at, node);
                }
            }
            server::Event::ConfigurationChanged {
                configuration,
                states,
            } => exempt.note_configuration(at, node, *configuration, states),
            server::Event::Reset { .. } => {
                self.stats.counters.resets += 1;
                exempt.note_server_lost(at, node);
            }
            server::Event::SurveyEnded { .. } => self.stats.counters.surveys += 1,
            server::Event::Conflict { .. } => self.stats.counters.conflicts += 1,
            server::Event::ShutDown { .. } => {
                exempt.note_left(node);
                if let Some(server) = own.server_mut() {
                    server.left = true;
                }
            }
            _ => {}
        }
    }
}
