//! Makes a run's schedule from its seed.

use ring_proto::time::nanos;

use super::plan::{Fault, Given, MAX_NODES, MAX_RATE, Mood, Schedule, Way, WorldFault};
use super::settings::{FaultKind, Settings};
use crate::kernel::faults::StreamFault;
use crate::kernel::generate::{self, Choices, Draws, MS};
use crate::kernel::rng::{Rng, Stream};

impl Schedule {
    /// The run that follows from the settings.
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
        let mut draw = Draw {
            nodes,
            time: nanos(settings.time) / MS,
            span: 8 * options.ack_us,
            actions: Vec::new(),
            rng,
            own: options.clone(),
        };
        let kinds: Vec<_> = settings.faults.iter().collect();
        for &kind in &kinds {
            // A run with a third of all kinds finds what a run with all of them drowns.
            let share = if is_life(kind) { 800 } else { 300 };
            if kinds.len() < 4 || draw.rng.chance(share) {
                draw.episodes(kind);
            }
        }
        draw.actions.sort_by_key(|action| action.at_us);
        let dies = kinds.contains(&FaultKind::Crash) || kinds.contains(&FaultKind::Power);
        let stay_dead = draw.stay_dead(dies);
        let elections = if draw.rng.chance(700) {
            vec![way]
        } else {
            ways.to_vec()
        };
        Self {
            about: String::new(),
            seed: settings.seed,
            ids: draw.ids(),
            time_us: draw.time,
            options,
            elections,
            latency_us,
            stay_dead,
            actions: draw.actions,
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

type Draw = generate::Draw<Given>;

impl Draws for Given {
    type Fault = Fault;

    const CHOICES: Choices = Choices {
        shortest: 5 * MS,
        soon: 50 * MS,
        reorder_ms: &[10, 100, 500],
        delay_ms: &[5, 50, 200],
        jitter_ms: &[0, 20, 200],
        replays: 1,
        slow_us: &[200, 5_000, 50_000],
        rates: &[-MAX_RATE, -1_000, 0, 1_000, MAX_RATE],
    };
}

impl Draw {
    /// Distinct ids, in no order.
    fn ids(&mut self) -> Vec<u32> {
        let mut ids: Vec<u32> = (1..).take(self.nodes).collect();
        for at in (1..ids.len()).rev() {
            let other = self.rng.index(at + 1);
            ids.swap(at, other);
        }
        ids
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
        self.repeat(pause, |draw, at| draw.episode(at, kind));
    }

    fn episode(&mut self, at: u64, kind: FaultKind) {
        if self.common_episode(at, kind) {
            return;
        }
        match kind {
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
        let fault = if self.rng.chance(400) {
            WorldFault::Databases { mood }
        } else {
            let node = self.node();
            WorldFault::Database { node, mood }
        };
        self.span(at, fault);
    }

    fn node_episode(&mut self, at: u64, kind: FaultKind) {
        let node = self.node();
        match kind {
            FaultKind::Pause => self.pause(at, node),
            FaultKind::Crash => self.crash(at, |node| WorldFault::End { node }),
            FaultKind::Power => self.span(at, WorldFault::Power { node }),
            FaultKind::Leave => self.span(at, WorldFault::Leave { node }),
            FaultKind::Empty => self.empty(at, node),
            FaultKind::List => self.lists(at, node),
            FaultKind::Link => {
                // Often longer than alone-timeout.
                let lasts = self.rng.between(5 * MS, 4 * self.span);
                self.once(at, WorldFault::Link { node, up: false });
                self.once(at + lasts, WorldFault::Link { node, up: true });
            }
            FaultKind::Stranger => {
                let count = self.rng.pick(&[1, 5, 20]);
                self.once(at, WorldFault::Stranger { node, count });
            }
            FaultKind::Flood => {
                let count = self.rng.pick(&[20, 200]);
                self.once(at, WorldFault::Flood { node, count });
            }
            FaultKind::Forge => {
                let count = self.rng.pick(&[1, 3, 10]);
                self.once(at, WorldFault::Forge { node, count });
            }
            FaultKind::Post => {
                let count = self.rng.pick(&[1, 1, 2, 5, 20, 90, 300]);
                self.once(at, WorldFault::Post { node, count });
            }
            FaultKind::Listen => {
                let listens = self.rng.chance(600);
                self.once(at, WorldFault::Listen { node, listens });
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
            self.once(at, WorldFault::List { node: other, lacks });
            let lacks = None;
            self.once(at + lasts, WorldFault::List { node: other, lacks });
        }
    }

    /// One node is started with `--drop`, or two of them nearly at once, the second of which may not live long.
    fn empty(&mut self, at: u64, node: usize) {
        self.once(at, WorldFault::End { node });
        self.once(at + MS, WorldFault::Start { node, drop: true });
        if self.rng.chance(400) {
            let node = self.node();
            let next = at + self.rng.between(MS, 20 * MS);
            self.once(next, WorldFault::End { node });
            self.once(next + MS, WorldFault::Start { node, drop: true });
            if self.rng.chance(500) {
                let lives = self.rng.between(MS, 10 * MS);
                self.once(next + lives, WorldFault::End { node });
                self.once(next + lives + MS, WorldFault::Start { node, drop: false });
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
        } = self.own;
        let about = [
            hold_us,
            ack_us,
            2 * ack_us,
            4 * ack_us,
            database_us,
            token_us,
            2 * token_us,
            alone_us,
        ];
        self.stall(at, &about, WorldFault::Pause { node });
    }
}
