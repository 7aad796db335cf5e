//! Makes a run's schedule from its seed.

use ring_proto::time::nanos;

use super::plan::{Action, Fault, Given, MAX_NODES, MAX_RATE, Mood, Schedule, Way};
use super::settings::{FaultKind, Settings};
use crate::kernel::faults::{NetworkFault, ProcessFault, StreamFault};
use crate::kernel::rng::{Rng, Stream};

const MS: u64 = 1_000;

impl Schedule {
    /// The run that follows from the settings.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        let mut rng = Rng::new(settings.seed, Stream::Plan);
        let nodes = settings
            .nodes
            .unwrap_or_else(|| rng.pick(&[2, 3, 3, 4, 4, 5, 5, 6, 8]));
        let nodes = nodes.clamp(1, MAX_NODES);
        let latency_us = rng.pick(&[(50, 100), (200, 800), (1_000, 4_000)]);
        let options = options(&mut rng);
        let ways = [Way::Ring, Way::ChangRoberts, Way::Bully];
        let way = rng.pick(&ways);
        let mut maker = Maker {
            nodes,
            time: nanos(settings.time) / MS,
            span: 8 * options.ack_us,
            options: options.clone(),
            actions: Vec::new(),
            rng,
        };
        let kinds: Vec<_> = settings.faults.iter().collect();
        for &kind in &kinds {
            // A run with a third of all kinds finds what a run with all of them drowns.
            let share = if is_life(kind) { 800 } else { 300 };
            if kinds.len() < 4 || maker.rng.chance(share) {
                maker.episodes(kind);
            }
        }
        maker.actions.sort_by_key(|action| action.at_us);
        let stay_dead = maker.stay_dead(&kinds);
        let elections = if maker.rng.chance(700) {
            vec![way]
        } else {
            ways.to_vec()
        };
        Self {
            about: String::new(),
            seed: settings.seed,
            ids: maker.ids(),
            time_us: maker.time,
            options,
            elections,
            latency_us,
            stay_dead,
            actions: maker.actions,
        }
    }
}

/// Times in the proportions of the defaults, five times as quick, or quicker in part.
fn options(rng: &mut Rng) -> Given {
    let ack = rng.pick(&[60, 100, 100, 200]) * MS;
    Given {
        hold_us: rng.pick(&[2, 10, 10, 20]) * MS,
        ack_us: ack,
        token_us: rng.pick(&[5, 10, 10]) * ack,
        connect_us: rng.pick(&[1, 2]) * ack,
        liveness_us: rng.pick(&[4, 6]) * ack,
        election_us: 2 * ack,
        poll_us: rng.pick(&[1, 2, 2]) * ack,
        database_us: rng.pick(&[1, 2, 2]) * ack,
        alone_us: rng.pick(&[10, 12]) * ack,
        request_us: rng.pick(&[5, 20]) * ack,
    }
}

/// Whether it is no fault, but belongs to the life of a ring.
const fn is_life(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Post | FaultKind::Listen)
}

struct Maker {
    rng: Rng,
    nodes: usize,
    /// All times here are in microseconds.
    time: u64,
    /// How long a fault lasts at most.
    span: u64,
    options: Given,
    actions: Vec<Action>,
}

impl Maker {
    fn at(&mut self, at_us: u64, fault: Fault) {
        if at_us < self.time {
            self.actions.push(Action { at_us, fault });
        }
    }

    /// A fault that ends.
    fn span(&mut self, at: u64, fault: Fault, end: Fault) {
        let lasts = self.rng.between(5 * MS, self.span);
        self.at(at, fault);
        self.at(at + lasts, end);
    }

    /// Something happens to messages for a while.
    fn network(&mut self, at: u64, fault: NetworkFault) {
        let end = Fault::Network(fault.end());
        self.span(at, Fault::Network(fault), end);
    }

    /// Something happens to connections for a while.
    fn streams(&mut self, at: u64, fault: StreamFault) {
        let end = Fault::Stream(fault.end());
        self.span(at, Fault::Stream(fault), end);
    }

    /// Something happens to a process for a while.
    fn process(&mut self, at: u64, fault: ProcessFault) {
        let end = Fault::Process(fault.end());
        self.span(at, Fault::Process(fault), end);
    }

    fn node(&mut self) -> usize {
        self.rng.index(self.nodes)
    }

    /// Distinct ids, in no order.
    fn ids(&mut self) -> Vec<u32> {
        let mut ids: Vec<u32> = (1..).take(self.nodes).collect();
        for at in (1..ids.len()).rev() {
            let other = self.rng.index(at + 1);
            ids.swap(at, other);
        }
        ids
    }

    fn stay_dead(&mut self, kinds: &[FaultKind]) -> Vec<usize> {
        let dies = kinds.contains(&FaultKind::Crash) || kinds.contains(&FaultKind::Power);
        if self.nodes > 2 && dies && self.rng.chance(300) {
            vec![self.node()]
        } else {
            Vec::new()
        }
    }

    /// All that happens of a kind.
    fn episodes(&mut self, kind: FaultKind) {
        let pause = match kind {
            FaultKind::Post => self.span / 8,
            FaultKind::Pause | FaultKind::Crash | FaultKind::Reset | FaultKind::Listen => {
                self.span / 2
            }
            // Few datagrams are sent.
            FaultKind::Refuse => self.span / 4,
            FaultKind::Empty | FaultKind::List => 3 * self.span,
            _ => self.span,
        };
        let mut at = self.rng.below(pause);
        while at < self.time {
            self.episode(at, kind);
            at += 1 + self.rng.below(2 * pause);
        }
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
                let ms = self.rng.pick(&[10, 100, 500]);
                self.network(at, NetworkFault::Reorder { rate, ms });
            }
            FaultKind::Delay => {
                let ms = self.rng.pick(&[5, 50, 200]);
                let jitter_ms = self.rng.pick(&[0, 20, 200]);
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
            FaultKind::Partition => self.partition(at),
            FaultKind::Replay => {
                let count = self.rng.pick(&[1, 5, 20]);
                self.at(at, Fault::Network(NetworkFault::Replay { count }));
            }
            FaultKind::Late
            | FaultKind::Gone
            | FaultKind::Unknown
            | FaultKind::ReadOnly
            | FaultKind::Twice => {
                self.database(at, kind);
            }
            FaultKind::Reset
            | FaultKind::Half
            | FaultKind::Stall
            | FaultKind::Dribble
            | FaultKind::Unanswered => self.connections(at, kind),
            _ => self.node_episode(at, kind),
        }
    }

    fn partition(&mut self, at: u64) {
        let parts = self.rng.pick(&[2, 2, 3]);
        let groups = (0..self.nodes)
            .map(|_| u8::try_from(self.rng.below(parts)).unwrap_or(0))
            .collect();
        self.network(at, NetworkFault::Part { groups });
    }

    fn connections(&mut self, at: u64, kind: FaultKind) {
        let rate = self.rng.pick(&[50, 300, 900]);
        let with = |rate| match kind {
            FaultKind::Half => StreamFault::Half { rate },
            FaultKind::Stall => StreamFault::Stall { rate },
            FaultKind::Dribble => StreamFault::Dribble { rate },
            FaultKind::Unanswered => StreamFault::Unanswered { rate },
            _ => StreamFault::Reset { rate },
        };
        let fault = if kind == FaultKind::Reset && self.rng.chance(500) {
            // A hello, a token and its acknowledgement have 56 bytes.
            let byte = self.rng.below(120);
            StreamFault::ResetAt { byte }
        } else {
            with(rate)
        };
        self.streams(at, fault);
    }

    /// The database treats one node, or all, otherwise.
    fn database(&mut self, at: u64, kind: FaultKind) {
        let mood = match kind {
            FaultKind::Late => Mood::Late,
            FaultKind::Gone => Mood::Gone,
            FaultKind::ReadOnly => Mood::ReadOnly,
            FaultKind::Unknown => self.rng.pick(&[Mood::Unknown, Mood::Silent]),
            _ => Mood::Twice,
        };
        let quick = Mood::Quick;
        if self.rng.chance(400) {
            self.span(
                at,
                Fault::Databases { mood },
                Fault::Databases { mood: quick },
            );
        } else {
            let node = self.node();
            let end = Fault::Database { node, mood: quick };
            self.span(at, Fault::Database { node, mood }, end);
        }
    }

    fn node_episode(&mut self, at: u64, kind: FaultKind) {
        let node = self.node();
        let again = Fault::Start { node, drop: false };
        match kind {
            FaultKind::Pause => self.pause(at, node),
            FaultKind::Crash => self.crash(at),
            FaultKind::Power => self.span(at, Fault::Power { node }, again),
            FaultKind::Leave => self.span(at, Fault::Leave { node }, again),
            FaultKind::Empty => self.empty(at, node),
            FaultKind::List => self.lists(at, node),
            FaultKind::Clock => {
                let millionths = self.rng.pick(&[-MAX_RATE, -1_000, 0, 1_000, MAX_RATE]);
                let fault = ProcessFault::Rate { node, millionths };
                self.at(at, Fault::Process(fault));
            }
            FaultKind::Slow => {
                let us = self.rng.pick(&[200, 5_000, 50_000]);
                self.process(at, ProcessFault::Slow { node, us });
            }
            FaultKind::Refuse => {
                let rate = self.rng.pick(&[100, 900]);
                self.process(at, ProcessFault::Refuse { node, rate });
            }
            FaultKind::Deaf => {
                self.process(at, ProcessFault::Deaf { node, deaf: true });
            }
            FaultKind::Link => {
                // Often longer than alone-timeout.
                let lasts = self.rng.between(5 * MS, 4 * self.span);
                self.at(at, Fault::Link { node, up: false });
                self.at(at + lasts, Fault::Link { node, up: true });
            }
            FaultKind::Stranger => {
                let count = self.rng.pick(&[1, 5, 20]);
                self.at(at, Fault::Stranger { node, count });
            }
            FaultKind::Flood => {
                let count = self.rng.pick(&[20, 200]);
                self.at(at, Fault::Flood { node, count });
            }
            FaultKind::Forge => {
                let count = self.rng.pick(&[1, 3, 10]);
                self.at(at, Fault::Forge { node, count });
            }
            FaultKind::Post => {
                let count = self.rng.pick(&[1, 1, 2, 5, 20, 90, 300]);
                self.at(at, Fault::Post { node, count });
            }
            FaultKind::Listen => {
                let listens = self.rng.chance(600);
                self.at(at, Fault::Listen { node, listens });
            }
            _ => {}
        }
    }

    /// One of the others lacks a node in its list for a while, or all of them do.
    fn lists(&mut self, at: u64, node: usize) {
        let only = self.rng.chance(500).then(|| self.node());
        let others = (0..self.nodes).filter(|&other| other != node);
        let others: Vec<_> = others
            .filter(|&it| only.is_none_or(|only| only == it))
            .collect();
        let lasts = self.rng.between(self.span / 4, 2 * self.span);
        for other in others {
            let lacks = Some(node);
            self.at(at, Fault::List { node: other, lacks });
            let lacks = None;
            self.at(at + lasts, Fault::List { node: other, lacks });
        }
    }

    /// One node is started with `--drop`, or two of them nearly at once, the second of which may not live long.
    fn empty(&mut self, at: u64, node: usize) {
        self.at(at, Fault::End { node });
        self.at(at + MS, Fault::Start { node, drop: true });
        if self.rng.chance(400) {
            let node = self.node();
            let next = at + self.rng.between(MS, 20 * MS);
            self.at(next, Fault::End { node });
            self.at(next + MS, Fault::Start { node, drop: true });
            if self.rng.chance(500) {
                let lives = self.rng.between(MS, 10 * MS);
                self.at(next + lives, Fault::End { node });
                self.at(next + lives + MS, Fault::Start { node, drop: false });
            }
        }
    }

    /// A process stands still: for about as long as what others wait for.
    fn pause(&mut self, at: u64, node: usize) {
        let Given {
            hold_us,
            ack_us,
            token_us,
            database_us,
            alone_us,
            ..
        } = self.options;
        let about = self.rng.pick(&[
            hold_us,
            ack_us,
            2 * ack_us,
            4 * ack_us,
            database_us,
            token_us,
            2 * token_us,
            alone_us,
        ]);
        let lasts = self.rng.between(about / 2, about + about / 2);
        self.at(at, Fault::Pause { node });
        self.at(at + lasts, Fault::Resume { node });
    }

    /// One process dies, or several at once; each is soon there again, or stays away for long.
    fn crash(&mut self, at: u64) {
        let many = self.rng.pick(&[1, 1, 1, 2, 4]);
        for _ in 0..many {
            let node = self.node();
            let most = if self.rng.chance(400) {
                50 * MS
            } else {
                self.span
            };
            let lasts = self.rng.between(MS, most);
            let start = at + self.rng.below(50 * MS);
            self.at(start, Fault::End { node });
            self.at(start + lasts, Fault::Start { node, drop: false });
        }
    }
}
