//! Generates a run's schedule from its seed.

use ring_codec::ftn::Kind as Type;
use ring_proto::ftn::CLIENT_TIMEOUT_MIN;
use ring_proto::ftn::server::{SESSION_BYTES, majority};
use ring_proto::time::nanos;

use super::client_keys::ClientNames;
use super::program::UPDATE_LENGTHS;
use super::schedule::{
    DeviantServer, Fault, MAX_CLIENTS, MAX_RATE, MAX_SERVERS, Schedule, SystemFault,
};
use super::settings::{FaultKind, Settings};
use crate::kernel::generate::{self, Choices, GeneratorOptions, MS};
use crate::kernel::keys::NodeKeys;
use crate::kernel::rng::{Rng, Stream};
use crate::kernel::schedule::FaultFields as _;

const SECOND: u64 = 1_000 * MS;
/// The messages after which a server may die.
const LAST_MESSAGES_OF_SERVERS: [Type; 8] = [
    Type::Config,
    Type::Grant,
    Type::Confirm,
    Type::State,
    Type::State,
    Type::Heartbeat,
    Type::Elect,
    Type::Transfer,
];
/// The messages after which a client may die.
const LAST_MESSAGES_OF_CLIENTS: [Type; 4] =
    [Type::Login, Type::Request, Type::Return, Type::Catalog];
/// An amount of memory that never fills up.
const MEMORY_BYTES: usize = 256 << 20;
/// The memory that four tokens with the longest data of a run need.
const SCARCE_MEMORY_BYTES: usize = 4 * (256 + 2 + UPDATE_LENGTHS[4]);

impl Schedule {
    /// Generates the schedule of these settings.
    pub fn of(settings: &Settings) -> Self {
        let mut rng = Rng::new(settings.seed, Stream::Plan);
        let servers = settings
            .servers
            .unwrap_or_else(|| rng.pick(&[1, 2, 3, 3, 3, 4, 5]));
        let servers = servers.clamp(1, MAX_SERVERS);
        let clients = settings.clients.unwrap_or_else(|| rng.pick(&[2, 3, 4, 6]));
        let heartbeat_us = rng.pick(&[200 * MS, 500 * MS, SECOND]);
        let server_timeout_us = heartbeat_us * rng.between(3, 5);
        let quorum = rng.pick(&[1, majority(servers), majority(servers)]);
        let clients = clients.min(MAX_CLIENTS);
        let own = FaultOptions {
            servers,
            clients,
            tokens: usize::try_from(rng.between(1, 4)).unwrap_or(1),
        };
        let mut generator = Generator {
            nodes: servers + clients,
            time: nanos(settings.time) / MS,
            span: 3 * server_timeout_us,
            actions: Vec::new(),
            rng,
            options: own,
        };
        // By default, sessions survive a change of the leader. In some runs, sessions do not survive this change.
        let change = server_timeout_us + 4 * heartbeat_us;
        let client_timeout_us =
            generator
                .rng
                .pick(&[change / 2, 5 * change / 2, 5 * change / 2, 4 * change]);
        let latency_us = generator.rng.pick(&[(50, 100), (200, 800), (1_000, 4_000)]);
        let kinds: Vec<_> = settings.faults.iter().collect();
        let mut max_memory = MEMORY_BYTES;
        let mut deviant = None;
        let is_first = |kind: &&FaultKind| !matches!(kind, FaultKind::Keys | FaultKind::Attack);
        for &kind in kinds.iter().filter(is_first) {
            // Some runs have only half of the kinds of fault, because some effects stay hidden if all kinds occur
            // together.
            let share = if is_normal_use(kind) { 800 } else { 400 };
            if kinds.len() < 4 || generator.rng.chance(share) {
                if kind == FaultKind::Memory {
                    max_memory = SCARCE_MEMORY_BYTES + 3 * clients * SESSION_BYTES;
                }
                if kind == FaultKind::Options {
                    let usual = (quorum, heartbeat_us, server_timeout_us, client_timeout_us);
                    deviant = Some(generator.draw_deviant(usual));
                } else {
                    generator.add_episodes(kind);
                }
            }
        }
        let keys = generator.add_keys(settings.seed, &kinds);
        let client_names = generator.draw_client_names(&keys);
        generator.actions.sort_by_key(|action| action.at_us);
        Self {
            about: String::new(),
            seed: settings.seed,
            servers,
            clients,
            quorum,
            time_us: generator.time,
            heartbeat_us,
            server_timeout_us,
            client_timeout_us,
            max_memory,
            deviant,
            client_names,
            latency_us,
            keys,
            stay_dead: Vec::new(),
            actions: generator.actions,
        }
    }
}

/// Whether this kind of action is part of normal use, and not a fault.
const fn is_normal_use(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Run
            | FaultKind::Hold
            | FaultKind::Change
            | FaultKind::Update
            | FaultKind::Cancel
            | FaultKind::List
    )
}

/// The numbers from which faults are drawn.
struct FaultOptions {
    servers: usize,
    clients: usize,
    tokens: usize,
}

type Generator = generate::Generator<FaultOptions>;

impl GeneratorOptions for FaultOptions {
    type Fault = Fault;

    const CHOICES: Choices = Choices {
        shortest: 10 * MS,
        soon: 300 * MS,
        reorder_ms: &[10, 100, 1_000, 20_000],
        delay_ms: &[5, 50, 500],
        jitter_ms: &[0, 20, 400],
        replays: 4,
        slow_us: &[200, 20_000, 100_000],
        rates: &[-MAX_RATE, -10_000, 0, 10_000, MAX_RATE],
    };

    /// Draws the node of a fault. Servers are more likely than clients.
    fn draw_node(generator: &mut Generator) -> usize {
        if generator.options.clients == 0 || generator.rng.chance(650) {
            generator.draw_server()
        } else {
            generator.draw_client()
        }
    }
}

impl Generator {
    /// Draws a server whose options differ from the options of the other servers.
    fn draw_deviant(&mut self, usual: (usize, u64, u64, u64)) -> DeviantServer {
        let (quorum, heartbeat_us, server_timeout_us, client_timeout_us) = usual;
        let mut deviant = DeviantServer {
            server: self.draw_server(),
            quorum,
            heartbeat_us,
            server_timeout_us,
            client_timeout_us,
        };
        if self.rng.chance(500) {
            deviant.quorum =
                self.rng
                    .pick(&[1, majority(self.options.servers), self.options.servers]);
        }
        if self.rng.chance(500) {
            // A server adapts to a client timeout that differs a little, but not to a fifteenth or to five times its
            // client timeout.
            let timeout = client_timeout_us * self.rng.pick(&[5, 1, 75]) / 15;
            deviant.client_timeout_us = timeout.max(nanos(CLIENT_TIMEOUT_MIN) / 1_000);
        }
        if self.rng.chance(300) {
            deviant.server_timeout_us = self.rng.pick(&[3 * heartbeat_us, 2 * server_timeout_us]);
        }
        if self.rng.chance(200) {
            deviant.heartbeat_us = heartbeat_us / 2;
        }
        deviant
    }

    fn draw_server(&mut self) -> usize {
        self.rng.index(self.options.servers)
    }

    fn draw_client(&mut self) -> usize {
        self.options.servers + self.rng.index(self.options.clients)
    }

    fn draw_token(&mut self) -> usize {
        self.rng.index(self.options.tokens)
    }

    /// Draws the names that the keys of clients permit. In half of the runs with keys, clients have keys of the ring.
    fn draw_client_names(&mut self, first: &NodeKeys) -> Vec<ClientNames> {
        let has_keys = !first.is_empty() || self.actions.iter().any(|it| it.fault.gives_keys());
        if !has_keys || self.rng.chance(500) {
            return Vec::new();
        }
        let mut names = Vec::new();
        for _ in 0..self.options.clients {
            let (one, other) = (self.draw_token(), self.draw_token());
            names.push(match self.rng.below(6) {
                0 => None,
                1 | 2 => Some(Vec::new()),
                3 => Some(vec!["t*".into()]),
                4 => Some(vec![format!("t{one}")]),
                _ => Some(vec![format!("t{one}"), format!("t{other}*")]),
            });
        }
        names
    }

    fn add_episodes(&mut self, kind: FaultKind) {
        let pause = match kind {
            FaultKind::Run => self.rng.pick(&[200 * MS, 600 * MS]),
            FaultKind::Hold | FaultKind::Update | FaultKind::Change => SECOND,
            FaultKind::Cancel | FaultKind::List => 3 * SECOND,
            _ => 2 * self.span,
        };
        let needs_clients =
            is_normal_use(kind) || matches!(kind, FaultKind::Logout | FaultKind::Socket);
        if needs_clients && self.options.clients == 0 {
            return;
        }
        self.repeat(pause, |generator, at| {
            if is_normal_use(kind) {
                generator.add_use(at, kind);
            } else {
                generator.add_kind(at, kind);
            }
        });
    }

    fn add_use(&mut self, at: u64, kind: FaultKind) {
        let (node, token) = (self.draw_client(), self.draw_token());
        let fault = match kind {
            FaultKind::Run => SystemFault::Run {
                node,
                token,
                shared: self.rng.chance(300),
                us: self.rng.pick(&[MS, 100 * MS, SECOND, 4 * SECOND]),
            },
            FaultKind::Hold => SystemFault::Hold {
                node,
                token,
                shared: self.rng.chance(500),
            },
            FaultKind::Change => SystemFault::Change { node, token },
            FaultKind::Update => SystemFault::Update { node, token },
            FaultKind::Cancel => SystemFault::Cancel { node, token },
            _ => SystemFault::List {
                node,
                server: self.draw_server(),
            },
        };
        self.add_fault(at, fault);
    }

    fn add_kind(&mut self, at: u64, kind: FaultKind) {
        self.add_common_episode(at, kind);
        match kind {
            FaultKind::Pause => {
                let node = self.draw_node();
                self.add_episode(at, SystemFault::Pause { node });
            }
            FaultKind::Crash => {
                let forget = false;
                self.add_crash(at, |node| SystemFault::End { node, forget });
            }
            FaultKind::Doom => self.add_crash_after_send(at),
            FaultKind::Forget => {
                let (node, forget) = (self.draw_server(), true);
                self.add_episode(at, SystemFault::End { node, forget });
            }
            FaultKind::Clock => {
                let seconds = self.rng.pick(&[-86_400, -3, 3, 86_400]);
                let node = self.draw_node();
                self.add_fault(at + self.span / 2, SystemFault::Wall { node, seconds });
            }
            FaultKind::Disk => {
                let node = self.draw_server();
                self.add_episode(at, SystemFault::Disk { node, full: true });
            }
            FaultKind::Stranger => {
                let node = self.draw_server();
                let count = self.rng.pick(&[1, 20]);
                self.add_fault(at, SystemFault::Stranger { node, count });
            }
            FaultKind::Socket => {
                let node = self.draw_client();
                self.add_fault(at, SystemFault::Socket { node });
            }
            FaultKind::Logout => {
                let node = self.draw_client();
                self.add_episode(at, SystemFault::Logout { node });
            }
            FaultKind::Leave => {
                let node = self.draw_server();
                self.add_episode(at, SystemFault::Leave { node });
            }
            _ => {}
        }
    }

    /// Adds processes that die after sending a certain message. Crashes after a certain message are more frequent than
    /// other crashes. The process usually starts again soon.
    fn add_crash_after_send(&mut self, at: u64) {
        for _ in 0..self.rng.between(1, 4) {
            let node = self.draw_node();
            let kinds: &[Type] = if node < self.options.servers {
                &LAST_MESSAGES_OF_SERVERS
            } else {
                &LAST_MESSAGES_OF_CLIENTS
            };
            let kind = self.rng.pick(kinds);
            let us = self.draw_downtime();
            let sends = Type::ALL.iter().position(|it| *it == kind).unwrap_or(0);
            let at = at + self.rng.below(self.span);
            self.add_fault(at, SystemFault::Doom { node, sends, us });
        }
    }
}
