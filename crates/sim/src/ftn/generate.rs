//! Makes a run's schedule from its seed.

use ring_codec::ftn::Kind as Type;
use ring_proto::ftn::MIN_CLIENT_TIMEOUT;
use ring_proto::ftn::server::{SESSION_BYTES, majority};
use ring_proto::time::nanos;

use super::plan::{Action, Fault, MAX_CLIENTS, MAX_RATE, MAX_SERVERS, Odd, Schedule};
use super::program::LENGTHS;
use super::settings::{FaultKind, Settings};
use crate::kernel::faults::{NetworkFault, ProcessFault};
use crate::kernel::rng::{Rng, Stream};

const MS: u64 = 1_000;
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
    #[must_use]
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
        let mut maker = Maker {
            servers,
            clients: clients.min(MAX_CLIENTS),
            time: nanos(settings.time) / 1_000,
            span: 3 * server_timeout_us,
            tokens: usize::try_from(rng.between(1, 4)).unwrap_or(1),
            actions: Vec::new(),
            rng,
        };
        // As by default sessions outlive a change of leader; in some runs they do not.
        let change = server_timeout_us + 4 * heartbeat_us;
        let client_timeout_us =
            maker
                .rng
                .pick(&[change / 2, 5 * change / 2, 5 * change / 2, 4 * change]);
        let latency_us = maker.rng.pick(&[(50, 100), (200, 800), (1_000, 4_000)]);
        let kinds: Vec<_> = settings.faults.iter().collect();
        let mut max_memory = MEMORY;
        let mut odd = None;
        for &kind in &kinds {
            // A run with half of all kinds finds what a run with all of them drowns.
            let share = if is_life(kind) { 800 } else { 400 };
            if kinds.len() < 4 || maker.rng.chance(share) {
                if kind == FaultKind::Memory {
                    max_memory = LITTLE_MEMORY + 3 * maker.clients * SESSION_BYTES;
                }
                if kind == FaultKind::Options {
                    let usual = (quorum, heartbeat_us, server_timeout_us, client_timeout_us);
                    odd = Some(maker.odd(usual));
                } else {
                    maker.episodes(kind);
                }
            }
        }
        maker.actions.sort_by_key(|action| action.at_us);
        Self {
            about: String::new(),
            seed: settings.seed,
            servers,
            clients: maker.clients,
            quorum,
            time_us: maker.time,
            heartbeat_us,
            server_timeout_us,
            client_timeout_us,
            max_memory,
            odd,
            latency_us,
            actions: maker.actions,
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

struct Maker {
    rng: Rng,
    servers: usize,
    clients: usize,
    /// All times here are in microseconds.
    time: u64,
    /// How long a fault lasts at most.
    span: u64,
    tokens: usize,
    actions: Vec<Action>,
}

impl Maker {
    fn at(&mut self, at_us: u64, fault: Fault) {
        if at_us < self.time {
            self.actions.push(Action { at_us, fault });
        }
    }

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
            odd.quorum = self.rng.pick(&[1, majority(self.servers), self.servers]);
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

    /// A fault that ends.
    fn span(&mut self, at: u64, fault: Fault, end: Fault) {
        let lasts = self.rng.between(10 * MS, self.span);
        self.at(at, fault);
        self.at(at + lasts, end);
    }

    /// Something happens to messages for a while.
    fn network(&mut self, at: u64, fault: NetworkFault) {
        let end = Fault::Network(fault.end());
        self.span(at, Fault::Network(fault), end);
    }

    /// Something happens to a process for a while.
    fn process(&mut self, at: u64, fault: ProcessFault) {
        let end = Fault::Process(fault.end());
        self.span(at, Fault::Process(fault), end);
    }

    fn server(&mut self) -> usize {
        self.rng.index(self.servers)
    }

    fn client(&mut self) -> usize {
        self.servers + self.rng.index(self.clients)
    }

    /// A server more often than not.
    fn node(&mut self) -> usize {
        if self.clients == 0 || self.rng.chance(650) {
            self.server()
        } else {
            self.client()
        }
    }

    fn token(&mut self) -> usize {
        self.rng.index(self.tokens)
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
        if needs_clients && self.clients == 0 {
            return;
        }
        let mut at = self.rng.below(pause);
        while at < self.time {
            if is_life(kind) {
                self.life(at, kind);
            } else {
                self.episode(at, kind);
            }
            at += 1 + self.rng.below(2 * pause);
        }
    }

    fn life(&mut self, at: u64, kind: FaultKind) {
        let (node, token) = (self.client(), self.token());
        let fault = match kind {
            FaultKind::Run => Fault::Run {
                node,
                token,
                shared: self.rng.chance(300),
                us: self.rng.pick(&[MS, 100 * MS, SECOND, 4 * SECOND]),
            },
            FaultKind::Hold => Fault::Hold {
                node,
                token,
                shared: self.rng.chance(500),
            },
            FaultKind::Change => Fault::Change { node, token },
            FaultKind::Update => Fault::Update { node, token },
            FaultKind::Cancel => Fault::Cancel { node, token },
            _ => Fault::List {
                node,
                server: self.server(),
            },
        };
        self.at(at, fault);
    }

    fn episode(&mut self, at: u64, kind: FaultKind) {
        match kind {
            FaultKind::Drop => {
                let rate = self.rng.pick(&[50, 200, 500, 900]);
                self.network(at, NetworkFault::Drop { rate });
            }
            FaultKind::Duplicate => {
                let rate = self.rng.pick(&[100, 500]);
                self.network(at, NetworkFault::Duplicate { rate });
            }
            FaultKind::Reorder => {
                let rate = self.rng.pick(&[50, 200, 500]);
                let ms = self.rng.pick(&[10, 100, 1_000, 20_000]);
                self.network(at, NetworkFault::Reorder { rate, ms });
            }
            FaultKind::Delay => {
                let ms = self.rng.pick(&[5, 50, 500]);
                let jitter_ms = self.rng.pick(&[0, 20, 400]);
                self.network(at, NetworkFault::Delay { ms, jitter_ms });
            }
            FaultKind::Corrupt => {
                let rate = self.rng.pick(&[20, 200]);
                self.network(at, NetworkFault::Corrupt { rate });
            }
            FaultKind::Oneway => {
                let (node, by) = (self.node(), self.node());
                if node != by {
                    self.network(at, NetworkFault::Unheard { node, by });
                }
            }
            FaultKind::Partition => {
                let parts = self.rng.pick(&[2, 2, 3]);
                let groups = (0..self.servers + self.clients)
                    .map(|_| u8::try_from(self.rng.below(parts)).unwrap_or(0))
                    .collect();
                self.network(at, NetworkFault::Part { groups });
            }
            FaultKind::Replay => {
                let count = self.rng.pick(&[1, 5, 20]);
                for again in 0..4 {
                    self.at(
                        at + again * self.span / 4,
                        Fault::Network(NetworkFault::Replay { count }),
                    );
                }
            }
            _ => self.node_episode(at, kind),
        }
    }

    fn node_episode(&mut self, at: u64, kind: FaultKind) {
        match kind {
            FaultKind::Pause => {
                let node = self.node();
                self.span(at, Fault::Pause { node }, Fault::Resume { node });
            }
            FaultKind::Crash => self.crash(at),
            FaultKind::Doom => self.doom(at),
            FaultKind::Forget => {
                let (node, forget) = (self.server(), true);
                self.span(at, Fault::End { node, forget }, Fault::Start { node });
            }
            FaultKind::Clock => {
                let node = self.node();
                let millionths = self.rng.pick(&[-MAX_RATE, -10_000, 0, 10_000, MAX_RATE]);
                let seconds = self.rng.pick(&[-86_400, -3, 3, 86_400]);
                let fault = ProcessFault::Rate { node, millionths };
                self.at(at, Fault::Process(fault));
                let node = self.node();
                self.at(at + self.span / 2, Fault::Wall { node, seconds });
            }
            FaultKind::Slow => {
                let node = self.node();
                let us = self.rng.pick(&[200, 20_000, 100_000]);
                self.process(at, ProcessFault::Slow { node, us });
            }
            FaultKind::Refuse => {
                let node = self.node();
                let rate = self.rng.pick(&[100, 900]);
                self.process(at, ProcessFault::Refuse { node, rate });
            }
            FaultKind::Disk => {
                let node = self.server();
                let (fault, end) = (
                    Fault::Disk { node, full: true },
                    Fault::Disk { node, full: false },
                );
                self.span(at, fault, end);
            }
            FaultKind::Deaf => {
                let node = self.node();
                self.process(at, ProcessFault::Deaf { node, deaf: true });
            }
            FaultKind::Stranger => {
                let node = self.server();
                let count = self.rng.pick(&[1, 20]);
                self.at(at, Fault::Stranger { node, count });
            }
            FaultKind::Socket => {
                let node = self.client();
                self.at(at, Fault::Socket { node });
            }
            FaultKind::Logout => {
                let node = self.client();
                self.span(at, Fault::Logout { node }, Fault::Start { node });
            }
            FaultKind::Leave => {
                let node = self.server();
                self.span(at, Fault::Leave { node }, Fault::Start { node });
            }
            _ => {}
        }
    }

    /// A process dies of what it sends: there are more of these than of other crashes, and mostly it is soon back.
    fn doom(&mut self, at: u64) {
        for _ in 0..self.rng.between(1, 4) {
            let node = self.node();
            let kinds: &[Type] = if node < self.servers {
                &BY_SERVERS
            } else {
                &BY_CLIENTS
            };
            let kind = self.rng.pick(kinds);
            let us = if self.rng.chance(400) {
                self.rng.between(MS, 300 * MS)
            } else {
                self.rng.between(MS, self.span)
            };
            let sends = Type::ALL.iter().position(|it| *it == kind).unwrap_or(0);
            let at = at + self.rng.below(self.span);
            self.at(at, Fault::Doom { node, sends, us });
        }
    }

    /// One process dies, or several at once; each is soon there again, or stays away for long.
    fn crash(&mut self, at: u64) {
        let many = self.rng.pick(&[1, 1, 1, 2, 4]);
        for _ in 0..many {
            let node = self.node();
            let lasts = if self.rng.chance(400) {
                self.rng.between(MS, 300 * MS)
            } else {
                self.rng.between(MS, self.span)
            };
            let forget = false;
            let start = at + self.rng.below(50 * MS);
            self.at(start, Fault::End { node, forget });
            self.at(start + lasts, Fault::Start { node });
        }
    }
}
