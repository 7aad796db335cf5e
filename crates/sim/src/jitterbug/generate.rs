//! Generates a run's schedule from its seed.

use ring_proto::jitterbug::LEASE_MIN;
use ring_proto::time::nanos;

use super::schedule::{
    DataPlan, Decider, Deviant, Fault, ForgedId, MAX_NODES, MAX_RATE, NodeOptions, ProgramBehavior,
    Schedule, SystemFault,
};
use super::settings::{FaultKind, Settings};
use super::system::disturbs;
use crate::kernel::faults::StreamFault;
use crate::kernel::generate::{self, Choices, GeneratorOptions, MS};
use crate::kernel::rng::{Rng, Stream};

/// The default number of entries of a list.
const LIST_ENTRIES_MAX: u32 = 65_536;

impl Schedule {
    /// Generates the schedule of these settings.
    pub fn of(settings: &Settings) -> Self {
        let mut rng = Rng::new(settings.seed, Stream::Plan);
        let nodes = settings
            .nodes
            .unwrap_or_else(|| rng.pick(&[2, 2, 3, 3, 4, 5, 6, 8]));
        let nodes = nodes.clamp(1, MAX_NODES);
        let latency_us = rng.pick(&[(50, 100), (200, 800), (1_000, 4_000)]);
        let computes = rng.chance(400);
        let data = DataPlan {
            computes,
            decides: rng.pick(&[
                Decider::Greater,
                Decider::Greater,
                Decider::Longer,
                Decider::Program,
            ]),
            padding: if computes {
                rng.pick(&[0, 100, 5_000, 20_000])
            } else {
                0
            },
        };
        let options = options(&mut rng, nodes, &data);
        let own = FaultOptions {
            options: options.clone(),
            moves: 0,
            latest_us: latency_us.0 + latency_us.1,
            deviant: None,
        };
        let mut generator = Generator {
            nodes,
            time: nanos(settings.time) / MS,
            span: 3 * options.renew_us,
            actions: Vec::new(),
            rng,
            options: own,
        };
        // Some runs leave the network without faults, because no violation is excused in such a network.
        let is_in_order = generator.rng.chance(300);
        let kinds: Vec<_> = settings.faults.iter().collect();
        let is_first = |kind: &&FaultKind| !matches!(kind, FaultKind::Keys | FaultKind::Attack);
        for &kind in kinds.iter().filter(is_first) {
            // Some runs have only half of the kinds of fault, because some effects stay hidden if all kinds occur
            // together.
            let share = if is_normal_use(kind) { 600 } else { 350 };
            let is_left_out = is_in_order && disturbs_network(kind) && kinds.len() >= 4;
            let is_drawn = kinds.len() < 4 || generator.rng.chance(share);
            if is_drawn && !is_left_out {
                generator.add_episodes(kind);
            }
        }
        let dies = kinds.contains(&FaultKind::Crash) || kinds.contains(&FaultKind::Power);
        let stay_dead = generator.draw_stay_dead(dies);
        let keys = generator.add_keys(settings.seed, &kinds);
        generator.actions.sort_by_key(|action| action.at_us);
        Self {
            about: String::new(),
            seed: settings.seed,
            nodes,
            time_us: generator.time,
            options,
            deviant: generator.options.deviant,
            data,
            latency_us,
            keys,
            stay_dead,
            actions: generator.actions,
        }
    }
}

fn options(rng: &mut Rng, nodes: usize, data: &DataPlan) -> NodeOptions {
    let interval_us = rng.pick(&[20, 50, 100]) * MS;
    // Long data need time to cross the network, one window after another.
    let pass = if data.padding > 1_000 {
        rng.pick(&[300, 500])
    } else {
        rng.pick(&[100, 300, 500])
    };
    let few = u32::try_from(nodes).unwrap_or(LIST_ENTRIES_MAX);
    let count = rng.pick(&[1, 2, 3, 3]);
    NodeOptions {
        interval_us: interval_us.max(least_interval(count)),
        count,
        renew_us: rng.pick(&[1_000, 2_000]) * MS,
        pass_us: pass * MS,
        hold_us: rng.pick(&[20, 50, 100, 100]) * MS,
        compute_us: rng.pick(&[300, 1_000]) * MS,
        max_nodes: if rng.chance(40) {
            few
        } else {
            LIST_ENTRIES_MAX
        },
    }
}

/// Returns the shortest interval that makes the lease long enough.
fn least_interval(count: u32) -> u64 {
    (nanos(LEASE_MIN) / 1_000).div_ceil(u64::from(2 * count - 1))
}

/// Whether this kind of action is part of normal use, and not a fault.
const fn is_normal_use(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Work | FaultKind::Yield)
}

fn disturbs_network(kind: FaultKind) -> bool {
    disturbs(kind) || kind == FaultKind::Forge
}

/// The values that determine Jitterbug's faults.
struct FaultOptions {
    options: NodeOptions,
    /// The number of address changes.
    moves: u32,
    /// The maximum latency without faults.
    latest_us: u64,
    /// A node whose times differ from the times of the other nodes.
    deviant: Option<Deviant>,
}

type Generator = generate::Generator<FaultOptions>;

impl GeneratorOptions for FaultOptions {
    type Fault = Fault;

    const CHOICES: Choices = Choices {
        shortest: 5 * MS,
        soon: 50 * MS,
        reorder_ms: &[10, 100, 1_000],
        delay_ms: &[5, 50, 200],
        jitter_ms: &[0, 20, 200],
        replays: 1,
        slow_us: &[200, 5_000, 50_000],
        rates: &[-MAX_RATE, -1_000, 0, 1_000, MAX_RATE],
    };
}

/// The maximum number of address changes. Old addresses stay in all lists. With more changes, rotations would become
/// too long.
const MAX_MOVES: u32 = 3;

impl Generator {
    fn add_episodes(&mut self, kind: FaultKind) {
        if kind == FaultKind::Times {
            let least = least_interval(self.options.options.count);
            let interval_us = match self.rng.below(4) {
                // With this interval, a restore ends before an answer can arrive.
                0 => (self.options.options.interval_us / 10)
                    .max(2 * self.options.latest_us)
                    .max(least),
                1 => 3 * self.options.options.interval_us,
                2 => 10 * self.options.options.interval_us,
                _ => 2_000 * MS,
            };
            let node = self.draw_node();
            self.options.deviant = Some(Deviant { node, interval_us });
            return;
        }
        let pause = match kind {
            FaultKind::Work | FaultKind::Yield | FaultKind::Forge => self.span / 6,
            FaultKind::Pause | FaultKind::Crash | FaultKind::Reset => self.span / 2,
            FaultKind::Address => 2 * self.span,
            _ => self.span,
        };
        self.repeat(pause, |generator, at| generator.add_kind(at, kind));
    }

    fn add_kind(&mut self, at: u64, kind: FaultKind) {
        if self.add_common_episode(at, kind) {
            return;
        }
        match kind {
            FaultKind::Reset => {
                let fault = if self.rng.chance(600) {
                    // An exchange of lists has about this many bytes.
                    let byte = self.rng.below(64 + 8 * self.nodes as u64);
                    StreamFault::ResetAt { byte }
                } else {
                    let rate = self.rng.pick(&[100, 500]);
                    StreamFault::Reset { rate }
                };
                self.add_stream_fault(at, fault);
            }
            FaultKind::Stall => {
                let rate = self.rng.pick(&[50, 300, 900]);
                self.add_stream_fault(at, StreamFault::Stall { rate });
            }
            FaultKind::Dribble => {
                let rate = self.rng.pick(&[200, 900]);
                self.add_stream_fault(at, StreamFault::Dribble { rate });
            }
            FaultKind::Unanswered => {
                let rate = self.rng.pick(&[100, 500]);
                self.add_stream_fault(at, StreamFault::Unanswered { rate });
            }
            _ => self.add_node_fault(at, kind),
        }
    }

    fn add_node_fault(&mut self, at: u64, kind: FaultKind) {
        let node = self.draw_node();
        match kind {
            FaultKind::Pause => self.add_pause(at, node),
            FaultKind::Crash => self.add_crash(at, |node| SystemFault::End { node }),
            FaultKind::Power => self.add_episode(at, SystemFault::Power { node }),
            FaultKind::Leave => self.add_episode(at, SystemFault::Leave { node }),
            FaultKind::Broadcast => {
                let unreached = true;
                self.add_episode(at, SystemFault::Unreached { node, unreached });
            }
            FaultKind::Link => self.add_episode(at, SystemFault::Link { node, up: false }),
            FaultKind::Address if self.options.moves < MAX_MOVES => {
                self.options.moves += 1;
                self.add_fault(at, SystemFault::Address { node });
            }
            FaultKind::Jobs => {
                let behavior = self.rng.pick(&[
                    ProgramBehavior::Slow,
                    ProgramBehavior::Fail,
                    ProgramBehavior::Hang,
                    ProgramBehavior::Linger,
                ]);
                self.add_episode(at, SystemFault::Jobs { node, behavior });
            }
            FaultKind::Work => {
                let lasts = self.rng.pick(&[MS, 50 * MS, self.options.options.renew_us]);
                self.add_fault(at, SystemFault::Work { node, wants: true });
                self.add_fault(at + lasts, SystemFault::Work { node, wants: false });
            }
            FaultKind::Yield => self.add_fault(at, SystemFault::Yield { node }),
            FaultKind::Stranger => {
                let count = self.rng.pick(&[1, 5, 20]);
                self.add_fault(at, SystemFault::Stranger { node, count });
            }
            FaultKind::Flood => {
                let count = self.rng.pick(&[20, 200]);
                self.add_fault(at, SystemFault::Flood { node, count });
            }
            FaultKind::Forge => {
                let claim = self.rng.pick(&[
                    ForgedId::Same,
                    ForgedId::Below,
                    ForgedId::Below,
                    ForgedId::Above,
                    ForgedId::Above,
                    ForgedId::Largest,
                ]);
                let fault = if self.rng.chance(600) {
                    SystemFault::Announce { claim }
                } else {
                    SystemFault::Give { node, claim }
                };
                self.add_fault(at, fault);
            }
            _ => {}
        }
    }

    /// Stalls a process for about as long as one of the protocol's timeouts.
    fn add_pause(&mut self, at: u64, node: usize) {
        let NodeOptions {
            interval_us,
            count,
            renew_us,
            pass_us,
            ..
        } = self.options.options;
        let try_us = interval_us * u64::from(count);
        let about = [
            interval_us,
            2 * try_us - interval_us,
            2 * try_us,
            pass_us,
            renew_us,
            renew_us + 2 * try_us,
            2 * renew_us,
        ];
        self.add_stall(at, &about, SystemFault::Pause { node });
    }
}
