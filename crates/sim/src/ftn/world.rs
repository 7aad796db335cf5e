//! Servers and clients: how they are made, started and looked at.

use std::time::Duration;

use ring_codec::ftn::ServerState;
use ring_proto::ftn::Servers;
use ring_proto::ftn::client::{self, Client};
use ring_proto::ftn::server::{self, RoleKind, Server};

use super::checks::Checks;
use super::exempt::Exempt;
use super::node::{ClientOwn, Doom, Kind, Own, ServerOwn};
use super::notation::{FIRST_PORT, client_address, list, server_address, token_of};
use super::outcome::{Outcome, Rule};
use super::plan::Schedule;
use super::service::{Due, PATH, SOCKET, Service, World};
use super::settings::FaultKind;
use crate::kernel::node::Node;
use crate::kernel::rng::{Rng, Stream};
use ring_proto::ftn::station::{Command, Net, Station};

/// Wall clocks show 2026 at the beginning, for the numbers of cold leaders.
const WALL: i64 = 90_000_000_000_000_000;
/// What the tokens of a survey or a TRANSFER may take above the limit: nobody may refuse those.
const GAINED: usize = 16 * 5_000;

/// What the processes of a run are started with, known to everything that starts one.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The servers' list.
    pub list: Servers,
    /// What each server is started with.
    pub options: Vec<server::Options>,
    /// How long clients may be silent, by their own options.
    pub client_timeout: Duration,
    /// The server with other options.
    pub odd: Option<usize>,
}

impl Setup {
    /// That of a schedule, which has servers.
    pub fn of(schedule: &Schedule) -> Option<Self> {
        Some(Self {
            list: list(schedule.servers)?,
            options: (0..schedule.servers)
                .map(|server| schedule.options_of(server))
                .collect(),
            client_timeout: schedule.options().client_timeout,
            odd: schedule.odd.map(|odd| odd.server),
        })
    }
}

impl World {
    /// The nodes of a schedule, none of them started.
    pub fn of(schedule: &Schedule, setup: Setup) -> Self {
        let mut rng = Rng::new(schedule.seed, Stream::World);
        let nodes = schedule.servers + schedule.clients;
        let nodes = (0..nodes).map(|at| {
            let (address, kind) = match at.checked_sub(schedule.servers) {
                None => (server_address(at), Kind::Server(ServerOwn::default())),
                Some(client) => (
                    client_address(client, FIRST_PORT),
                    Kind::Client(ClientOwn::default()),
                ),
            };
            let own = Own {
                address,
                doom: Doom::None,
                kind,
            };
            let mut node = Node::new(own, SOCKET, 1 + rng.below(1_000_000_000_000));
            node.clock.set_wall(WALL);
            node
        });
        let nodes = nodes.collect();
        let system = Service {
            servers: schedule.servers,
            checks: Checks::new(Exempt::new(
                schedule.servers,
                schedule.quorum,
                &schedule.slowest(),
            )),
            setup: Some(setup),
            ..Service::default()
        };
        let mut world = Self::of_schedule(nodes, schedule, rng, system);
        world.network.weather.longest = Some(PATH);
        world
    }

    /// Starts all that are dead.
    pub fn start_all(&mut self) {
        for at in 0..self.len() {
            self.start(at);
        }
    }

    /// Starts a process. A client's has a socket of another address than its last one had: at the same one it would
    /// be given its former session, and what is late of that would be its own.
    pub fn start(&mut self, at: usize) {
        let Some(setup) = self.system.setup.clone() else {
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
                let options = setup.options[at];
                let Ok(machine) = Server::new(options, setup.list, at, durable, seed) else {
                    return;
                };
                if setup.odd == Some(at) {
                    self.system.met(FaultKind::Options);
                }
                self.launch(at, Station::Server(Box::new(machine)));
                self.tell_link(at, Net::Server(server::Net::Up));
            }
            Kind::Client(own) => {
                *own = ClientOwn::default();
                let machine = Client::new(client::Options {
                    servers: setup.list,
                    client_timeout: setup.client_timeout,
                    introduction: String::new(),
                });
                if !is_first {
                    self.next_port(at);
                }
                self.launch(at, Station::Client(Box::new(machine)));
                self.tell_socket(at);
            }
        }
    }

    fn tell_link(&mut self, at: usize, net: Net) {
        self.input(at, |driver, now, surroundings| {
            driver.link_changed(now, net, surroundings);
        });
    }

    /// A client's next socket has another address.
    fn next_port(&mut self, at: usize) {
        let address = &mut self.nodes[at].own.address;
        address.set_port(address.port().wrapping_add(1).max(FIRST_PORT));
    }

    fn tell_socket(&mut self, at: usize) {
        let port = self.nodes[at].own.address.port();
        self.tell_link(at, Net::Client(client::Net::Up { port }));
    }

    /// A client opens another socket; what waits in the old one is lost.
    pub fn open_socket(&mut self, at: usize) {
        self.next_port(at);
        self.nodes[at].inbox.clear();
        self.tell_socket(at);
    }

    /// A process dies.
    pub fn die(&mut self, at: usize) {
        if self.nodes[at].driver.is_none() {
            return;
        }
        let now = self.now;
        // What it has learned in its last moment is lost with it, and what it has handed over without saying so.
        let known = self.machine(at).and_then(Station::server).map(known_tokens);
        self.end(at);
        self.nodes[at].own.doom = Doom::None;
        if at < self.system.servers {
            let exempt = &mut self.system.checks.exempt;
            exempt.known[at] |= known.unwrap_or_default();
            exempt.note_memory_lost(now, at);
            exempt.note_leading(now, at, false);
            exempt.known[at] = 0;
        }
    }

    /// A process that is dead of what it has sent dies; it starts again later.
    pub fn meet_doom(&mut self, at: usize) {
        if let Doom::Dead(for_so_long) = self.nodes[at].own.doom {
            self.system.met(FaultKind::Doom);
            self.die(at);
            let then = self.now.saturating_add(for_so_long);
            self.later_in_life(at, then, Due::Start { node: at });
        }
    }

    /// A program asks its machine.
    pub fn command(&mut self, at: usize, command: Command) {
        let now = self.now;
        self.system
            .trace
            .note(now, || format!("n{at} is told {command:?}"));
        self.input(at, |driver, now, surroundings| {
            driver.command(now, command, surroundings);
        });
    }

    /// With a majority as quorum no two leaders have authority at the same time, by the clock of each.
    fn look_at_authority(&mut self, at: usize) {
        let leads = |other: usize| {
            let server = self.machine(other)?.server()?;
            let is_majority = 2 * server.options().quorum > self.system.servers;
            let is_leader = is_majority && server.standing().role == RoleKind::Leader;
            let local = self.nodes[other].clock.monotonic(self.now);
            (is_leader && server.snapshot(local).authority).then_some(other)
        };
        let Some(one) = leads(at) else {
            return;
        };
        let mut others = (0..self.system.servers).filter(|&other| other != at);
        if let Some(other) = others.find_map(leads) {
            let now = self.now;
            self.system.checks.two_lead(now, (one, other));
        }
    }

    /// A server was given an input.
    pub fn look_at_server(&mut self, at: usize) {
        self.look_at_authority(at);
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
        if snapshot.states[at] == ServerState::Down
            && snapshot.state == ServerState::Booting
            && snapshot.tokens > 0
        {
            let what = format!("{} tokens of before it was DOWN", snapshot.tokens);
            checks.found.broken(now, Some(at), Rule::Stale, what);
        }
        checks.exempt.note_leading(now, at, leads);
        checks.exempt.note_handed_over(at, server.has_handed_over());
        checks
            .exempt
            .note_quorum(now, leads.then_some(server.quorum()));
        for token in server.tokens() {
            let is_member = |id: i32| snapshot.sessions.iter().any(|(session, _)| *session == id);
            if let Some(id) = token.holders().find(|&id| !is_member(id)) {
                let name = String::from_utf8_lossy(token.name);
                let what = format!("{name} is held by {id}, which is no session");
                checks.found.broken(now, Some(at), Rule::Sessions, what);
            }
        }
        checks.exempt.known[at] = known_tokens(server);
        let counters = server.counters();
        if counters.unassigned_dropped > 0 {
            checks.exempt.note_dropped(now);
        }
        let max = server.options().max_memory + GAINED;
        if snapshot.memory_bytes > max || snapshot.sessions.len() > server.options().max_clients {
            let (bytes, sessions) = (snapshot.memory_bytes, snapshot.sessions.len());
            let what = format!("{bytes} bytes of {max}, {sessions} sessions");
            checks.found.broken(now, Some(at), Rule::Memory, what);
        }
        let Some(own) = node.own.server_mut() else {
            return;
        };
        let early = own.granted_early.take();
        if let Some(what) = early.filter(|_| own.state != Some(ServerState::Ready)) {
            checks.found.broken(now, Some(at), Rule::Stale, what);
        }
        if own.left {
            self.later_in_life(at, now, Due::End { node: at });
        }
    }

    /// What the run has come to.
    pub fn finish(self) -> Outcome {
        let Service { checks, stats, .. } = self.system;
        checks.found.outcome(stats, self.now)
    }
}

/// The tokens that a server knows, a bit for each.
fn known_tokens(server: &Server) -> u64 {
    let numbers = server.tokens().filter_map(|token| token_of(token.name));
    numbers.fold(0, |known, number| known | 1 << number)
}
