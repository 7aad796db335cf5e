//! Makes a run's schedule from its seed.

use ring_codec::ftn::Kind as Type;
use ring_proto::ftn::MIN_CLIENT_TIMEOUT;
use ring_proto::ftn::server::{SESSION_BYTES, majority};
use ring_proto::time::nanos;

use super::plan::{Fault, MAX_CLIENTS, MAX_RATE, MAX_SERVERS, Odd, Schedule, WorldFault};
use super::program::LENGTHS;
use super::settings::{FaultKind, Settings};
use crate::kernel::generate::{self, Choices, Draws, MS};
use crate::kernel::rng::{Rng, Stream};

const SECOND: u64 = 1_000 * MS;
/// What servers die of.
const BY_SERVERS: [Type; 8] = [
    Type::Config,
    Type::Grant,
    Type::Confirm,
    Type::State,
    Type::State,
    Type::Heartbeat,
    Type::Elect,
    Type::Transfer,
];
/// What clients die of.
const BY_CLIENTS: [Type; 4] = [Type::Login, Type::Request, Type::Return, Type::Catalog];
/// Memory that is never full.
const MEMORY: usize = 256 << 20;
/// Room for four tokens with the longest data of a run.
const LITTLE_MEMORY: usize = 4 * (256 + 2 + LENGTHS[4]);

impl Schedule {
    /// The run that follows from the settings.
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
        let own = Service {
            servers,
            clients,
            tokens: usize::try_from(rng.between(1, 4)).unwrap_or(1),
        };
        let mut draw = Draw {
            nodes: servers + clients,
            time: nanos(settings.time) / MS,
            span: 3 * server_timeout_us,
            actions: Vec::new(),
            rng,
            own,
        };
        // As by default sessions outlive a change of leader; in some runs they do not.
        let change = server_timeout_us + 4 * heartbeat_us;
        let client_timeout_us =
            draw.rng
                .pick(&[change / 2, 5 * change / 2, 5 * change / 2, 4 * change]);
        let latency_us = draw.rng.pick(&[(50, 100), (200, 800), (1_000, 4_000)]);
        let kinds: Vec<_> = settings.faults.iter().collect();
        let mut max_memory = MEMORY;
        let mut odd = None;
        for &kind in &kinds {
            // A run with half of all kinds finds what a run with all of them drowns.
            let share = if is_life(kind) { 800 } else { 400 };
            if kinds.len() < 4 || draw.rng.chance(share) {
                if kind == FaultKind::Memory {
                    max_memory = LITTLE_MEMORY + 3 * clients * SESSION_BYTES;
                }
                if kind == FaultKind::Options {
                    let usual = (quorum, heartbeat_us, server_timeout_us, client_timeout_us);
                    odd = Some(draw.odd(usual));
                } else {
                    draw.episodes(kind);
                }
            }
        }
        draw.actions.sort_by_key(|action| action.at_us);
        Self {
            about: String::new(),
            seed: settings.seed,
            servers,
            clients,
            quorum,
            time_us: draw.time,
            heartbeat_us,
            server_timeout_us,
            client_timeout_us,
            max_memory,
            odd,
            latency_us,
            stay_dead: Vec::new(),
            actions: draw.actions,
        }
    }
}

/// Whether it is no fault, but belongs to the life of a service.
const fn is_life(kind: FaultKind) -> bool {
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

/// How many there are of what faults are about.
struct Service {
    servers: usize,
    clients: usize,
    tokens: usize,
}

type Draw = generate::Draw<Service>;

impl Draws for Service {
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

    /// A server more often than not.
    fn node(draw: &mut Draw) -> usize {
        if draw.own.clients == 0 || draw.rng.chance(650) {
            draw.server()
        } else {
            draw.client()
        }
    }
}

impl Draw {
    /// A server with some options that differ from these.
    fn odd(&mut self, usual: (usize, u64, u64, u64)) -> Odd {
        let (quorum, heartbeat_us, server_timeout_us, client_timeout_us) = usual;
        let mut odd = Odd {
            server: self.server(),
            quorum,
            heartbeat_us,
            server_timeout_us,
            client_timeout_us,
        };
        if self.rng.chance(500) {
            odd.quorum = self
                .rng
                .pick(&[1, majority(self.own.servers), self.own.servers]);
        }
        if self.rng.chance(500) {
            // A fifteenth and five times are more than a server makes up for.
            let timeout = client_timeout_us * self.rng.pick(&[5, 1, 75]) / 15;
            odd.client_timeout_us = timeout.max(nanos(MIN_CLIENT_TIMEOUT) / 1_000);
        }
        if self.rng.chance(300) {
            odd.server_timeout_us = self.rng.pick(&[3 * heartbeat_us, 2 * server_timeout_us]);
        }
        if self.rng.chance(200) {
            odd.heartbeat_us = heartbeat_us / 2;
        }
        odd
    }

    fn server(&mut self) -> usize {
        self.rng.index(self.own.servers)
    }

    fn client(&mut self) -> usize {
        self.own.servers + self.rng.index(self.own.clients)
    }

    fn token(&mut self) -> usize {
        self.rng.index(self.own.tokens)
    }

    /// All that happens of a kind.
    fn episodes(&mut self, kind: FaultKind) {
        let pause = match kind {
            FaultKind::Run => self.rng.pick(&[200 * MS, 600 * MS]),
            FaultKind::Hold | FaultKind::Update | FaultKind::Change => SECOND,
            FaultKind::Cancel | FaultKind::List => 3 * SECOND,
            _ => 2 * self.span,
        };
        let needs_clients = is_life(kind) || matches!(kind, FaultKind::Logout | FaultKind::Socket);
        if needs_clients && self.own.clients == 0 {
            return;
        }
        self.repeat(pause, |draw, at| {
            if is_life(kind) {
                draw.life(at, kind);
            } else {
                draw.episode(at, kind);
            }
        });
    }

    fn life(&mut self, at: u64, kind: FaultKind) {
        let (node, token) = (self.client(), self.token());
        let fault = match kind {
            FaultKind::Run => WorldFault::Run {
                node,
                token,
                shared: self.rng.chance(300),
                us: self.rng.pick(&[MS, 100 * MS, SECOND, 4 * SECOND]),
            },
            FaultKind::Hold => WorldFault::Hold {
                node,
                token,
                shared: self.rng.chance(500),
            },
            FaultKind::Change => WorldFault::Change { node, token },
            FaultKind::Update => WorldFault::Update { node, token },
            FaultKind::Cancel => WorldFault::Cancel { node, token },
            _ => WorldFault::List {
                node,
                server: self.server(),
            },
        };
        self.once(at, fault);
    }

    fn episode(&mut self, at: u64, kind: FaultKind) {
        self.common_episode(at, kind);
        match kind {
            FaultKind::Pause => {
                let node = self.node();
                self.span(at, WorldFault::Pause { node });
            }
            FaultKind::Crash => {
                let forget = false;
                self.crash(at, |node| WorldFault::End { node, forget });
            }
            FaultKind::Doom => self.doom(at),
            FaultKind::Forget => {
                let (node, forget) = (self.server(), true);
                self.span(at, WorldFault::End { node, forget });
            }
            FaultKind::Clock => {
                let seconds = self.rng.pick(&[-86_400, -3, 3, 86_400]);
                let node = self.node();
                self.once(at + self.span / 2, WorldFault::Wall { node, seconds });
            }
            FaultKind::Disk => {
                let node = self.server();
                self.span(at, WorldFault::Disk { node, full: true });
            }
            FaultKind::Stranger => {
                let node = self.server();
                let count = self.rng.pick(&[1, 20]);
                self.once(at, WorldFault::Stranger { node, count });
            }
            FaultKind::Socket => {
                let node = self.client();
                self.once(at, WorldFault::Socket { node });
            }
            FaultKind::Logout => {
                let node = self.client();
                self.span(at, WorldFault::Logout { node });
            }
            FaultKind::Leave => {
                let node = self.server();
                self.span(at, WorldFault::Leave { node });
            }
            _ => {}
        }
    }

    /// A process dies of what it sends: there are more of these than of other crashes, and mostly it is soon back.
    fn doom(&mut self, at: u64) {
        for _ in 0..self.rng.between(1, 4) {
            let node = self.node();
            let kinds: &[Type] = if node < self.own.servers {
                &BY_SERVERS
            } else {
                &BY_CLIENTS
            };
            let kind = self.rng.pick(kinds);
            let us = self.downtime();
            let sends = Type::ALL.iter().position(|it| *it == kind).unwrap_or(0);
            let at = at + self.rng.below(self.span);
            self.once(at, WorldFault::Doom { node, sends, us });
        }
    }
}
