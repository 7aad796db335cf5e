//! Makes a run's schedule from its seed.

use ring_proto::jitterbug::LEAST_LEASE;
use ring_proto::time::nanos;

use super::plan::{
    Claim, DataPlan, Decider, Deviant, Fault, Given, MAX_NODES, MAX_RATE, Mood, Schedule,
    WorldFault,
};
use super::segment::disturbs;
use super::settings::{FaultKind, Settings};
use crate::kernel::faults::StreamFault;
use crate::kernel::generate::{self, Choices, Draws, MS};
use crate::kernel::rng::{Rng, Stream};

/// As many entries as any list has.
const ENTRIES: u32 = 65_536;

impl Schedule {
    /// The run that follows from the settings.
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
        let own = Segment {
            options: options.clone(),
            moves: 0,
            latest_us: latency_us.0 + latency_us.1,
            deviant: None,
        };
        let mut draw = Draw {
            nodes,
            time: nanos(settings.time) / MS,
            span: 3 * options.renew_us,
            actions: Vec::new(),
            rng,
            own,
        };
        // Some runs leave the network in order: what holds there is not excused.
        let is_in_order = draw.rng.chance(300);
        let kinds: Vec<_> = settings.faults.iter().collect();
        for &kind in &kinds {
            // A run with half of all kinds finds what a run with all of them drowns.
            let share = if is_life(kind) { 600 } else { 350 };
            let is_left_out = is_in_order && spoils_order(kind) && kinds.len() >= 4;
            let is_drawn = kinds.len() < 4 || draw.rng.chance(share);
            if is_drawn && !is_left_out {
                draw.episodes(kind);
            }
        }
        draw.actions.sort_by_key(|action| action.at_us);
        let dies = kinds.contains(&FaultKind::Crash) || kinds.contains(&FaultKind::Power);
        let stay_dead = draw.stay_dead(dies);
        Self {
            about: String::new(),
            seed: settings.seed,
            nodes,
            time_us: draw.time,
            options,
            deviant: draw.own.deviant,
            data,
            latency_us,
            stay_dead,
            actions: draw.actions,
        }
    }
}

fn options(rng: &mut Rng, nodes: usize, data: &DataPlan) -> Given {
    let interval_us = rng.pick(&[20, 50, 100]) * MS;
    // Long data takes a while to cross the network, a window at a time.
    let pass = if data.padding > 1_000 {
        rng.pick(&[300, 500])
    } else {
        rng.pick(&[100, 300, 500])
    };
    let few = u32::try_from(nodes).unwrap_or(ENTRIES);
    let count = rng.pick(&[1, 2, 3, 3]);
    Given {
        interval_us: interval_us.max(least_interval(count)),
        count,
        renew_us: rng.pick(&[1_000, 2_000]) * MS,
        pass_us: pass * MS,
        hold_us: rng.pick(&[20, 50, 100, 100]) * MS,
        compute_us: rng.pick(&[300, 1_000]) * MS,
        max_nodes: if rng.chance(40) { few } else { ENTRIES },
    }
}

/// The shortest interval with which a lease is long enough.
fn least_interval(count: u32) -> u64 {
    (nanos(LEAST_LEASE) / 1_000).div_ceil(u64::from(2 * count - 1))
}

/// Whether it is no fault, but belongs to the life of a ring.
const fn is_life(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Work | FaultKind::Yield)
}

/// Whether the network is not in order with it.
fn spoils_order(kind: FaultKind) -> bool {
    disturbs(kind) || kind == FaultKind::Forge
}

/// What faults of this world depend on.
struct Segment {
    options: Given,
    /// How often nodes have got another address.
    moves: u32,
    /// The longest way of a datagram on a clear network.
    latest_us: u64,
    /// A node with other times.
    deviant: Option<Deviant>,
}

type Draw = generate::Draw<Segment>;

impl Draws for Segment {
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

/// Addresses that nodes have had stay in all lists: more would make rounds too long to wait for.
const MAX_MOVES: u32 = 3;

impl Draw {
    /// All that happens of a kind.
    fn episodes(&mut self, kind: FaultKind) {
        if kind == FaultKind::Times {
            let least = least_interval(self.own.options.count);
            let interval_us = match self.rng.below(4) {
                // A restore that is over before an answer can be there hears none.
                0 => (self.own.options.interval_us / 10)
                    .max(2 * self.own.latest_us)
                    .max(least),
                1 => 3 * self.own.options.interval_us,
                2 => 10 * self.own.options.interval_us,
                _ => 2_000 * MS,
            };
            let node = self.node();
            self.own.deviant = Some(Deviant { node, interval_us });
            return;
        }
        let pause = match kind {
            FaultKind::Work | FaultKind::Yield | FaultKind::Forge => self.span / 6,
            FaultKind::Pause | FaultKind::Crash | FaultKind::Reset => self.span / 2,
            FaultKind::Address => 2 * self.span,
            _ => self.span,
        };
        self.repeat(pause, |draw, at| draw.episode(at, kind));
    }

    fn episode(&mut self, at: u64, kind: FaultKind) {
        if self.common_episode(at, kind) {
            return;
        }
        match kind {
            FaultKind::Reset => {
                let fault = if self.rng.chance(600) {
                    // An exchange of lists has about so many bytes.
                    let byte = self.rng.below(64 + 8 * self.nodes as u64);
                    StreamFault::ResetAt { byte }
                } else {
                    let rate = self.rng.pick(&[100, 500]);
                    StreamFault::Reset { rate }
                };
                self.streams(at, fault);
            }
            FaultKind::Stall => {
                let rate = self.rng.pick(&[50, 300, 900]);
                self.streams(at, StreamFault::Stall { rate });
            }
            FaultKind::Dribble => {
                let rate = self.rng.pick(&[200, 900]);
                self.streams(at, StreamFault::Dribble { rate });
            }
            FaultKind::Unanswered => {
                let rate = self.rng.pick(&[100, 500]);
                self.streams(at, StreamFault::Unanswered { rate });
            }
            _ => self.node_episode(at, kind),
        }
    }

    fn node_episode(&mut self, at: u64, kind: FaultKind) {
        let node = self.node();
        match kind {
            FaultKind::Pause => self.pause(at, node),
            FaultKind::Crash => self.crash(at, |node| WorldFault::End { node }),
            FaultKind::Power => self.span(at, WorldFault::Power { node }),
            FaultKind::Leave => self.span(at, WorldFault::Leave { node }),
            FaultKind::Broadcast => {
                let unreached = true;
                self.span(at, WorldFault::Unreached { node, unreached });
            }
            FaultKind::Link => self.span(at, WorldFault::Link { node, up: false }),
            FaultKind::Address if self.own.moves < MAX_MOVES => {
                self.own.moves += 1;
                self.once(at, WorldFault::Address { node });
            }
            FaultKind::Jobs => {
                let mood = self
                    .rng
                    .pick(&[Mood::Slow, Mood::Fail, Mood::Hang, Mood::Linger]);
                self.span(at, WorldFault::Jobs { node, mood });
            }
            FaultKind::Work => {
                let lasts = self.rng.pick(&[MS, 50 * MS, self.own.options.renew_us]);
                self.once(at, WorldFault::Work { node, wants: true });
                self.once(at + lasts, WorldFault::Work { node, wants: false });
            }
            FaultKind::Yield => self.once(at, WorldFault::Yield { node }),
            FaultKind::Stranger => {
                let count = self.rng.pick(&[1, 5, 20]);
                self.once(at, WorldFault::Stranger { node, count });
            }
            FaultKind::Flood => {
                let count = self.rng.pick(&[20, 200]);
                self.once(at, WorldFault::Flood { node, count });
            }
            FaultKind::Forge => {
                let claim = self.rng.pick(&[
                    Claim::Same,
                    Claim::Below,
                    Claim::Below,
                    Claim::Above,
                    Claim::Above,
                    Claim::Largest,
                ]);
                let fault = if self.rng.chance(600) {
                    WorldFault::Announce { claim }
                } else {
                    WorldFault::Give { node, claim }
                };
                self.once(at, fault);
            }
            _ => {}
        }
    }

    /// A process stands still: for about as long as what its protocol waits for.
    fn pause(&mut self, at: u64, node: usize) {
        let Given {
            interval_us,
            count,
            renew_us,
            pass_us,
            ..
        } = self.own.options;
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
        self.stall(at, &about, WorldFault::Pause { node });
    }
}
