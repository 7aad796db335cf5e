//! Generates a run's schedule from its seed.

use ring_proto::time::nanos;

use super::schedule::{
    DatabaseBehavior, ElectionMethod, Fault, MAX_NODES, MAX_RATE, NodeOptions, Schedule,
    SystemFault,
};
use super::settings::{FaultKind, Settings};
use crate::kernel::faults::StreamFault;
use crate::kernel::generate::{self, Choices, GeneratorOptions, MS};
use crate::kernel::rng::{Rng, Stream};

impl Schedule {
    /// Generates the schedule of these settings.
    pub fn of(settings: &Settings) -> Self {
        let mut rng = Rng::new(settings.seed, Stream::Plan);
        let nodes = settings
            .nodes
            .unwrap_or_else(|| rng.pick(&[2, 3, 3, 4, 4, 5, 5, 6, 8]));
        let nodes = nodes.clamp(1, MAX_NODES);
        let latency_us = rng.pick(&[(50, 100), (200, 800), (1_000, 4_000)]);
        let options = options(&mut rng);
        let methods = [
            ElectionMethod::Ring,
            ElectionMethod::ChangRoberts,
            ElectionMethod::Bully,
        ];
        let method = rng.pick(&methods);
        let mut generator = Generator {
            nodes,
            time: nanos(settings.time) / MS,
            span: 8 * options.ack_us,
            actions: Vec::new(),
            rng,
            options: options.clone(),
        };
        let kinds: Vec<_> = settings.faults.iter().collect();
        let is_first = |kind: &&FaultKind| !matches!(kind, FaultKind::Keys | FaultKind::Attack);
        for &kind in kinds.iter().filter(is_first) {
            // Some runs have only a third of the kinds of fault, because some effects stay hidden if all kinds occur
            // together.
            let share = if is_normal_use(kind) { 800 } else { 300 };
            if kinds.len() < 4 || generator.rng.chance(share) {
                generator.add_episodes(kind);
            }
        }
        let dies = kinds.contains(&FaultKind::Crash) || kinds.contains(&FaultKind::Power);
        let stay_dead = generator.draw_stay_dead(dies);
        let elections = if generator.rng.chance(700) {
            vec![method]
        } else {
            methods.to_vec()
        };
        let ids = generator.draw_ids();
        let keys = generator.add_keys(settings.seed, &kinds);
        generator.actions.sort_by_key(|action| action.at_us);
        Self {
            about: String::new(),
            seed: settings.seed,
            ids,
            time_us: generator.time,
            options,
            elections,
            latency_us,
            keys,
            stay_dead,
            actions: generator.actions,
        }
    }
}

/// Draws times whose ratios to one another are about the ratios of the default times. Each drawn time is at most a
/// fifth of its default.
fn options(rng: &mut Rng) -> NodeOptions {
    let ack = rng.pick(&[60, 100, 100, 200]) * MS;
    NodeOptions {
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

/// Whether this kind of action is part of normal use, and not a fault.
const fn is_normal_use(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Post | FaultKind::Listen)
}

type Generator = generate::Generator<NodeOptions>;

impl GeneratorOptions for NodeOptions {
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

impl Generator {
    /// Draws distinct ids in random order.
    fn draw_ids(&mut self) -> Vec<u32> {
        let mut ids: Vec<u32> = (1..).take(self.nodes).collect();
        for at in (1..ids.len()).rev() {
            let other = self.rng.index(at + 1);
            ids.swap(at, other);
        }
        ids
    }

    fn add_episodes(&mut self, kind: FaultKind) {
        let pause = match kind {
            FaultKind::Post => self.span / 8,
            FaultKind::Pause | FaultKind::Crash | FaultKind::Reset | FaultKind::Listen => {
                self.span / 2
            }
            // Nodes send datagrams rarely, so refusals must be frequent: otherwise, they would hit few datagrams.
            FaultKind::Refuse => self.span / 4,
            FaultKind::Empty | FaultKind::List => 3 * self.span,
            _ => self.span,
        };
        self.repeat(pause, |generator, at| generator.add_kind(at, kind));
    }

    fn add_kind(&mut self, at: u64, kind: FaultKind) {
        if self.add_common_episode(at, kind) {
            return;
        }
        match kind {
            FaultKind::Late
            | FaultKind::Gone
            | FaultKind::Unknown
            | FaultKind::ReadOnly
            | FaultKind::Twice => {
                self.add_database_fault(at, kind);
            }
            FaultKind::Reset
            | FaultKind::Half
            | FaultKind::Stall
            | FaultKind::Dribble
            | FaultKind::Unanswered => self.add_connection_fault(at, kind),
            _ => self.add_node_fault(at, kind),
        }
    }

    fn add_connection_fault(&mut self, at: u64, kind: FaultKind) {
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
        self.add_stream_fault(at, fault);
    }

    /// Changes the behavior of the database for one node or for all nodes.
    fn add_database_fault(&mut self, at: u64, kind: FaultKind) {
        let behavior = match kind {
            FaultKind::Late => DatabaseBehavior::Late,
            FaultKind::Gone => DatabaseBehavior::Gone,
            FaultKind::ReadOnly => DatabaseBehavior::ReadOnly,
            FaultKind::Unknown => self
                .rng
                .pick(&[DatabaseBehavior::Unknown, DatabaseBehavior::Silent]),
            _ => DatabaseBehavior::Twice,
        };
        let fault = if self.rng.chance(400) {
            SystemFault::Databases { behavior }
        } else {
            let node = self.draw_node();
            SystemFault::Database { node, behavior }
        };
        self.add_episode(at, fault);
    }

    fn add_node_fault(&mut self, at: u64, kind: FaultKind) {
        let node = self.draw_node();
        match kind {
            FaultKind::Pause => self.add_pause(at, node),
            FaultKind::Crash => self.add_crash(at, |node| SystemFault::End { node }),
            FaultKind::Power => self.add_episode(at, SystemFault::Power { node }),
            FaultKind::Leave => self.add_episode(at, SystemFault::Leave { node }),
            FaultKind::Empty => self.add_drop(at, node),
            FaultKind::List => self.add_incomplete_lists(at, node),
            FaultKind::Link => {
                // The downtime often exceeds `alone-timeout`.
                let lasts = self.rng.between(5 * MS, 4 * self.span);
                self.add_fault(at, SystemFault::Link { node, up: false });
                self.add_fault(at + lasts, SystemFault::Link { node, up: true });
            }
            FaultKind::Stranger => {
                let count = self.rng.pick(&[1, 5, 20]);
                self.add_fault(at, SystemFault::Stranger { node, count });
            }
            FaultKind::Flood => {
                let count = self.rng.pick(&[20, 200]);
                self.add_fault(at, SystemFault::Flood { node, count });
            }
            FaultKind::Forge => {
                let count = self.rng.pick(&[1, 3, 10]);
                self.add_fault(at, SystemFault::Forge { node, count });
            }
            FaultKind::Post => {
                let count = self.rng.pick(&[1, 1, 2, 5, 20, 90, 300]);
                self.add_fault(at, SystemFault::Post { node, count });
            }
            FaultKind::Listen => {
                let listens = self.rng.chance(600);
                self.add_fault(at, SystemFault::Listen { node, listens });
            }
            _ => {}
        }
    }

    /// For a while, one other node or all other nodes have a list without this node.
    fn add_incomplete_lists(&mut self, at: u64, node: usize) {
        let only = self.rng.chance(500).then(|| self.draw_node());
        let others = (0..self.nodes).filter(|&other| other != node);
        let others: Vec<_> = others
            .filter(|&it| only.is_none_or(|only| only == it))
            .collect();
        let lasts = self.rng.between(self.span / 4, 2 * self.span);
        for other in others {
            let lacks = Some(node);
            self.add_fault(at, SystemFault::List { node: other, lacks });
            let lacks = None;
            self.add_fault(at + lasts, SystemFault::List { node: other, lacks });
        }
    }

    /// Restarts a node with `--drop`, and sometimes a second node soon afterwards. The second node may soon die.
    fn add_drop(&mut self, at: u64, node: usize) {
        self.add_fault(at, SystemFault::End { node });
        self.add_fault(at + MS, SystemFault::Start { node, drop: true });
        if self.rng.chance(400) {
            let node = self.draw_node();
            let next = at + self.rng.between(MS, 20 * MS);
            self.add_fault(next, SystemFault::End { node });
            self.add_fault(next + MS, SystemFault::Start { node, drop: true });
            if self.rng.chance(500) {
                let lives = self.rng.between(MS, 10 * MS);
                self.add_fault(next + lives, SystemFault::End { node });
                self.add_fault(next + lives + MS, SystemFault::Start { node, drop: false });
            }
        }
    }

    /// Stalls a process for about as long as one of the protocol's timeouts.
    fn add_pause(&mut self, at: u64, node: usize) {
        let NodeOptions {
            hold_us,
            ack_us,
            token_us,
            database_us,
            alone_us,
            ..
        } = self.options;
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
        self.add_stall(at, &about, SystemFault::Pause { node });
    }
}
