//! The start and end of servers and clients, and the checks after each input.

use std::time::Duration;

use ring_codec::ftn::ServerState;
use ring_proto::ftn::Servers;
use ring_proto::ftn::client::{self, Client};
use ring_proto::ftn::server::{self, RoleKind, Server};

use super::attacking_client::AttackingClient;
use super::checks::Checks;
use super::client_keys::{ATTACKER_NAME, KeyRole};
use super::exemptions::Exemptions;
use super::node::{ClientData, CrashAfterSend, Kind, NodeData, ServerData};
use super::notation::{
    FIRST_PORT, attacker_address, client_address, list, server_address, token_of,
};
use super::outcome::{Outcome, Rule};
use super::schedule::Schedule;
use super::settings::FaultKind;
use super::system::{FtnEvent, FtnSystem, PATH_DATAGRAM_MAX, SOCKET_DATAGRAM_MAX, World};
use crate::kernel::node::Node;
use crate::kernel::rng::{Rng, Stream};
use ring_proto::ftn::endpoint::{Command, Endpoint, Net};

/// The offset of the wall clocks. With this offset, the wall clocks start in 2026, because a cold leader derives its
/// number from its wall clock.
const WALL_OFFSET: i64 = 90_000_000_000_000_000;
/// A server must not refuse the tokens of a survey or TRANSFER. The tokens of a survey or TRANSFER may exceed the
/// memory limit by this number of bytes.
const UNREFUSABLE_BYTES: usize = 16 * 5_000;

/// The values with which the processes of a run are started.
#[derive(Debug, Clone)]
pub(super) struct ProcessOptions {
    pub(super) list: Servers,
    pub(super) options: Vec<server::Options>,
    pub(super) client_timeout: Duration,
    /// The server whose options differ from the options of the other servers.
    pub(super) deviant: Option<usize>,
}

impl ProcessOptions {
    /// Returns the values of a schedule, or `None` without servers.
    pub(super) fn of(schedule: &Schedule) -> Option<Self> {
        Some(Self {
            list: list(schedule.servers)?,
            options: (0..schedule.servers)
                .map(|server| schedule.options_of(server))
                .collect(),
            client_timeout: schedule.options().client_timeout,
            deviant: schedule.deviant.map(|deviant| deviant.server),
        })
    }
}

impl World {
    /// Creates the simulation of a schedule; no process is started.
    pub(super) fn of(schedule: &Schedule, process_options: ProcessOptions) -> Self {
        let mut rng = Rng::new(schedule.seed, Stream::World);
        let nodes = schedule.servers + schedule.clients;
        let mut roles = KeyRole::of(schedule).into_iter();
        let nodes = (0..nodes).map(|at| {
            let (address, kind) = match at.checked_sub(schedule.servers) {
                None => (server_address(at), Kind::Server(ServerData::default())),
                Some(client) => (
                    client_address(client, FIRST_PORT),
                    Kind::Client(ClientData::default()),
                ),
            };
            let own = NodeData {
                address,
                crash_after_send: CrashAfterSend::None,
                keys: roles.next().unwrap_or_default(),
                kind,
            };
            let mut node = Node::new(own, SOCKET_DATAGRAM_MAX, 1 + rng.below(1_000_000_000_000));
            node.clock.set_wall(WALL_OFFSET);
            node
        });
        let nodes = nodes.collect();
        let system = FtnSystem {
            servers: schedule.servers,
            checks: Checks::new(Exemptions::new(
                schedule.servers,
                schedule.quorum,
                &schedule.slowest(),
            )),
            process_options: Some(process_options),
            ..FtnSystem::default()
        };
        let mut sim = Self::of_schedule(nodes, schedule, rng, system);
        sim.network.conditions.longest = Some(PATH_DATAGRAM_MAX);
        sim.set_first_client_keys(&schedule.keys);
        if sim.has_attacker() && !schedule.client_names.is_empty() {
            sim.system.attacking_client = AttackingClient::new();
        }
        sim
    }

    pub(super) fn start_all(&mut self) {
        for at in 0..self.len() {
            self.start(at);
        }
    }

    /// Starts a dead process. A client gets a new port. With the old port, the client would continue its earlier
    /// session, and would receive late datagrams of this session.
    pub(super) fn start(&mut self, at: usize) {
        let Some(process_options) = self.system.process_options.clone() else {
            return;
        };
        if self.nodes[at].driver.is_some() {
            return;
        }
        let seed = self.rng.draw();
        let is_first = self.nodes[at].life == 0;
        match &mut self.nodes[at].own.kind {
            Kind::Server(server) => {
                (server.state, server.granted_early) = (None, None);
                (server.leaves, server.left) = (false, false);
                let durable = server.durable;
                let options = process_options.options[at];
                let Ok(machine) = Server::new(options, process_options.list, at, durable, seed)
                else {
                    return;
                };
                if process_options.deviant == Some(at) {
                    self.system.count_fault(FaultKind::Options);
                }
                self.start_process(at, Endpoint::Server(Box::new(machine)));
                self.report_link(at, Net::Server(server::NetworkState::Up));
            }
            Kind::Client(own) => {
                *own = ClientData::default();
                let machine = Client::new(client::Options {
                    servers: process_options.list,
                    client_timeout: process_options.client_timeout,
                    introduction: String::new(),
                });
                if !is_first {
                    self.next_port(at);
                }
                self.start_process(at, Endpoint::Client(Box::new(machine)));
                self.report_socket(at);
            }
        }
    }

    fn report_link(&mut self, at: usize, net: Net) {
        self.input(at, |driver, now, environment| {
            driver.link_changed(now, net, environment);
        });
    }

    /// Gives a client's next socket a different port.
    fn next_port(&mut self, at: usize) {
        let address = &mut self.nodes[at].own.address;
        address.set_port(address.port().wrapping_add(1).max(FIRST_PORT));
    }

    fn report_socket(&mut self, at: usize) {
        let port = self.nodes[at].own.address.port();
        self.report_link(at, Net::Client(client::SocketState::Up { port }));
    }

    /// Opens a new socket of a client, with a different port. The datagrams in the old socket are lost.
    pub(super) fn open_socket(&mut self, at: usize) {
        self.next_port(at);
        self.nodes[at].inbox.clear();
        self.report_socket(at);
    }

    pub(super) fn kill_process(&mut self, at: usize) {
        if self.nodes[at].driver.is_none() {
            return;
        }
        let now = self.now;
        // The process loses the facts of its last input, and the tokens whose handover it has not reported.
        let known = self
            .machine(at)
            .and_then(Endpoint::server)
            .map(known_tokens);
        self.end_process(at);
        self.nodes[at].own.crash_after_send = CrashAfterSend::None;
        if at < self.system.servers {
            let exemptions = &mut self.system.checks.exemptions;
            exemptions.known[at] |= known.unwrap_or_default();
            exemptions.note_memory_lost(now, at);
            exemptions.note_leading(now, at, false);
            exemptions.known[at] = 0;
        }
    }

    /// If a process has sent its last message, kills the process and schedules its next start.
    pub(super) fn end_if_crashed(&mut self, at: usize) {
        if let CrashAfterSend::Dead(for_so_long) = self.nodes[at].own.crash_after_send {
            self.system.count_fault(FaultKind::Doom);
            self.kill_process(at);
            let then = self.now.saturating_add(for_so_long);
            self.later_in_life(at, then, FtnEvent::Start { node: at });
        }
    }

    pub(super) fn command(&mut self, at: usize, command: Command) {
        let now = self.now;
        self.system
            .trace
            .note(now, || format!("n{at} gets {command:?}"));
        self.input(at, |driver, now, environment| {
            driver.command(now, command, environment);
        });
    }

    /// Checks that at most one leader has authority if the quorum is a majority. The leader's clock decides whether the
    /// leader has authority.
    fn check_authority(&mut self, at: usize) {
        let leads = |other: usize| {
            let server = self.machine(other)?.server()?;
            let is_majority = 2 * server.options().quorum > self.system.servers;
            let is_leader = is_majority && server.summary().role == RoleKind::Leader;
            let local = self.nodes[other].clock.monotonic(self.now);
            (is_leader && server.snapshot(local).authority).then_some(other)
        };
        let Some(one) = leads(at) else {
            return;
        };
        let mut others = (0..self.system.servers).filter(|&other| other != at);
        if let Some(other) = others.find_map(leads) {
            let now = self.now;
            self.system.checks.report_two_leaders(now, (one, other));
        }
    }

    /// Checks a server after an input.
    pub(super) fn check_server(&mut self, at: usize) {
        self.check_authority(at);
        let now = self.now;
        let node = &mut self.nodes[at];
        let is_running = node.is_running();
        let Some(server) = node.driver.as_ref().and_then(|it| it.machine().server()) else {
            return;
        };
        let local = node.clock.monotonic(now);
        let snapshot = server.snapshot(local);
        let checks = &mut self.system.checks;
        let leads = is_running && snapshot.role == RoleKind::Leader;
        // A server that has seen itself DOWN must have dropped its tokens before it boots (Q5).
        if snapshot.states[at] == ServerState::Down
            && snapshot.state == ServerState::Booting
            && snapshot.tokens > 0
        {
            let what = format!("{} tokens of before it was DOWN", snapshot.tokens);
            checks.findings.report(now, Some(at), Rule::Stale, what);
        }
        checks.exemptions.note_leading(now, at, leads);
        checks
            .exemptions
            .note_handed_over(at, server.has_handed_over());
        checks
            .exemptions
            .note_quorum(now, leads.then_some(server.quorum()));
        for token in server.tokens() {
            let is_member = |id: i32| snapshot.sessions.iter().any(|(session, _)| *session == id);
            if let Some(id) = token.holders().find(|&id| !is_member(id)) {
                let name = String::from_utf8_lossy(token.name);
                let what = format!("{name} is held by {id}, which is no session");
                checks.findings.report(now, Some(at), Rule::Sessions, what);
            }
            let is_attackers = |id| snapshot.sessions.contains(&(id, attacker_address()));
            if token.holders().any(is_attackers) && token.name != ATTACKER_NAME.as_bytes() {
                let name = String::from_utf8_lossy(token.name);
                let what = format!("{name} is held by the attacker");
                checks.findings.report(now, Some(at), Rule::Names, what);
            }
        }
        checks.exemptions.known[at] = known_tokens(server);
        let counters = server.counters();
        if counters.unassigned_dropped > 0 {
            checks.exemptions.note_dropped(now);
        }
        let max = server.options().max_memory + UNREFUSABLE_BYTES;
        if snapshot.memory_bytes > max || snapshot.sessions.len() > server.options().max_clients {
            let (bytes, sessions) = (snapshot.memory_bytes, snapshot.sessions.len());
            let what = format!("{bytes} bytes of {max}, {sessions} sessions");
            checks.findings.report(now, Some(at), Rule::Memory, what);
        }
        let Some(own) = node.own.server_mut() else {
            return;
        };
        let early = own.granted_early.take();
        if let Some(what) = early.filter(|_| own.state != Some(ServerState::Ready)) {
            checks.findings.report(now, Some(at), Rule::Stale, what);
        }
        if own.left {
            self.later_in_life(at, now, FtnEvent::End { node: at });
        }
    }

    pub(super) fn finish(self) -> Outcome {
        let FtnSystem { checks, stats, .. } = self.system;
        checks.findings.outcome(stats, self.now)
    }
}

/// Returns the tokens that a server knows, one bit per token.
fn known_tokens(server: &Server) -> u64 {
    let numbers = server.tokens().filter_map(|token| token_of(token.name));
    numbers.fold(0, |known, number| known | 1 << number)
}
