//! FTN as a system of the simulator: its addresses, its datagrams, and its events.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ring_codec::ftn::{self, Datagram, Kind as Type, ServerState};
use ring_proto::ftn::server;
use ring_trust::Authenticator;

use super::attacking_client::AttackingClient;
use super::checks::Checks;
use super::client_keys::FtnAddressing;
use super::node::{CrashAfterSend, Kind, NodeData};
use super::notation::{attacker_address, is_stranger, line, node_of};
use super::outcome::{Rule, Stats};
use super::schedule::Fault;
use super::settings::FaultKind;
use super::world::ProcessOptions;
use crate::kernel::datagram_log::datagram_log;
use crate::kernel::simulation;
use crate::kernel::stats::Count;
use crate::kernel::streams::{ConnectionTable, NoStreams};
use crate::kernel::system::{Message, Moment, Route, System};
use crate::kernel::trace::Trace;
use ring_proto::ftn::endpoint::{Endpoint, Event};

/// The longest datagram of a socket, in bytes: the limit of UDP over IPv4.
pub(super) const SOCKET_DATAGRAM_MAX: usize = 65_507;
/// The longest datagram of a path, in bytes: 1,280 bytes of IPv6 without the headers of IPv6 and UDP. The network loses
/// fragments of longer datagrams.
pub(super) const PATH_DATAGRAM_MAX: usize = 1_232;

pub(super) type World = simulation::Simulation<FtnSystem>;

/// An event of FTN for a node's process.
#[derive(Debug)]
pub(super) enum FtnEvent {
    /// A command under a token has ended.
    Done { node: usize, token: usize, job: u32 },
    /// A program has ended.
    End { node: usize },
    /// A process that died after sending starts again.
    Start { node: usize },
}

/// The state of the whole service, its checks and counters.
#[derive(Debug, Default)]
pub(super) struct FtnSystem {
    pub(super) checks: Checks,
    pub(super) stats: Stats,
    pub(super) servers: usize,
    pub(super) updates: u64,
    pub(super) trace: Trace,
    /// Whether the faults are over. After the faults, a process that ends starts again.
    pub(super) faults_have_ended: bool,
    /// The attacker as a client; `None` if it has no key.
    pub(super) attacking_client: Option<AttackingClient>,
    /// The values with which processes are started.
    pub(super) process_options: Option<ProcessOptions>,
}

impl FtnSystem {
    pub(super) fn count_fault(&mut self, kind: FaultKind) {
        self.stats.count_fault(kind);
    }
}

impl System for FtnSystem {
    type Machine = Endpoint;
    type Streams = NoStreams;
    type Address = SocketAddr;
    type Label = Option<&'static str>;
    type Node = NodeData;
    type Addressing = FtnAddressing;
    type Missed = ();
    type Event = FtnEvent;
    type Fault = Fault;

    const HEADER_LEN: usize = 0;
    const MESSAGE_LEN_MAX: usize = SOCKET_DATAGRAM_MAX;
    const FLOODS_DUPLICATES: bool = false;
    /// UDP's checksum always detects a datagram in which only a few bits have flipped.
    const CHECKSUM_FINDS_PER_1000: u16 = 1_000;

    fn address(_: usize, own: &NodeData) -> SocketAddr {
        own.address
    }

    fn addressing(_: usize, own: &NodeData) -> FtnAddressing {
        own.keys.addressing(own.address)
    }

    fn set_signature_options(own: &NodeData, authenticator: &mut Authenticator<SocketAddr>) {
        own.keys.set_options(authenticator);
    }

    fn accepts(own: &NodeData, to: SocketAddr) -> bool {
        own.address == to
    }

    fn listen(_: &Rc<RefCell<ConnectionTable<SocketAddr>>>, _: usize, _: &NodeData) -> NoStreams {
        NoStreams
    }

    fn is_broadcast(_: &[u8], _: SocketAddr) -> bool {
        false
    }

    fn route(sim: &World, to: SocketAddr) -> Route {
        let node = node_of(to, sim.system.servers);
        Route::One(node.filter(|&node| node < sim.len()))
    }

    fn on_sent(
        &mut self,
        moment: Moment,
        own: &mut NodeData,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Option<(SocketAddr, Option<&'static str>)> {
        let Moment { at, node } = moment;
        if matches!(own.crash_after_send, CrashAfterSend::Dead(_)) {
            return None;
        }
        let datagram = match Datagram::decode(bytes) {
            Ok(datagram) => datagram,
            Err(error) => {
                self.checks
                    .findings
                    .report(at, Some(node), Rule::Valid, error.to_string());
                return None;
            }
        };
        let message = datagram.message();
        if is_stranger(to) {
            let max = 26 + self.servers;
            self.checks
                .check_stranger_answer(at, node, to, bytes.len(), max);
            if !matches!(message, ftn::Message::Config { .. }) {
                let what = format!("a stranger gets {}", line(bytes));
                self.checks
                    .findings
                    .report(at, Some(node), Rule::Stranger, what);
            }
        }
        if let (ftn::Message::Grant { .. }, Kind::Server(server)) = (message, &mut own.kind)
            && server.state != Some(ServerState::Ready)
        {
            server.granted_early = Some(line(bytes));
        }
        self.trace
            .note(at, || format!("n{node} sends to {to}: {}", line(bytes)));
        let kind = message.kind();
        if let CrashAfterSend::Armed(sends, for_so_long) = own.crash_after_send
            && Type::ALL.get(sends) == Some(&kind)
        {
            own.crash_after_send = CrashAfterSend::Dead(for_so_long);
        }
        Some((to, Some(kind.name())))
    }

    datagram_log!(checks.findings, line);

    fn on_overheard(sim: &mut World, message: &Message<Self>) {
        sim.on_overheard(message);
    }

    fn is_attackers(address: SocketAddr) -> bool {
        address == attacker_address()
    }

    fn on_event(&mut self, moment: Moment, own: &mut NodeData, event: &Event) {
        let Moment { at, node } = moment;
        if matches!(own.crash_after_send, CrashAfterSend::Dead(_)) {
            return;
        }
        self.trace.note(at, || match event {
            Event::Server(event) => format!("n{node} reports {event:?}"),
            Event::Client(event) => format!("n{node} reports {event:?}"),
        });
        match (event, &mut own.kind) {
            (Event::Server(event), Kind::Server(_)) => self.on_server_event(moment, own, event),
            (Event::Client(event), Kind::Client(client)) => {
                self.on_client_event(at, node, client, event);
            }
            _ => {}
        }
    }

    fn store(own: &mut NodeData, durable: &server::Durable) {
        if matches!(own.crash_after_send, CrashAfterSend::Dead(_)) {
            return;
        }
        if let Some(server) = own.server_mut() {
            server.durable = *durable;
        }
    }

    fn count(&mut self, what: Count) {
        self.stats.count(what);
    }

    fn on_system_event(sim: &mut World, event: FtnEvent) {
        match event {
            FtnEvent::Done { node, token, job } => sim.finish_job(node, token, job),
            FtnEvent::End { node } => {
                sim.kill_process(node);
                if sim.system.faults_have_ended {
                    sim.start(node);
                }
            }
            FtnEvent::Start { node } => sim.start(node),
        }
    }

    fn apply_action(sim: &mut World, fault: &Fault) {
        sim.act(fault);
    }

    fn check_node(sim: &mut World, at: usize) {
        sim.end_if_crashed(at);
        if at < sim.system.servers {
            sim.check_server(at);
        } else {
            sim.check_client(at);
        }
    }

    fn on_resumed(sim: &mut World, at: usize, (): ()) {
        if at < sim.system.servers {
            sim.check_server(at);
        }
    }
}

impl FtnSystem {
    fn on_server_event(&mut self, moment: Moment, own: &mut NodeData, event: &server::Event) {
        let Moment { at, node } = moment;
        let exemptions = &mut self.checks.exemptions;
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
                exemptions.note_take_over(at, node, *configuration, *warm);
                if *warm {
                    self.stats.counters.warm += 1;
                } else {
                    self.stats.counters.cold += 1;
                    exemptions.note_server_lost(at, node);
                }
            }
            server::Event::ConfigurationChanged {
                configuration,
                states,
            } => exemptions.note_configuration(at, node, *configuration, states),
            server::Event::Reset { .. } => {
                self.stats.counters.resets += 1;
                exemptions.note_server_lost(at, node);
            }
            server::Event::SurveyEnded { .. } => self.stats.counters.surveys += 1,
            server::Event::Conflict { .. } => self.stats.counters.conflicts += 1,
            server::Event::ShutDown { .. } => {
                exemptions.note_left(node);
                if let Some(server) = own.server_mut() {
                    server.left = true;
                }
            }
            _ => {}
        }
    }
}
