//! Makes a run's schedule from its seed.

use ring_proto::jitterbug::LEAST_LEASE;
use ring_proto::time::nanos;

use super::plan::{
    Action, Claim, DataPlan, Decider, Deviant, Fault, Given, MAX_NODES, MAX_RATE, Mood, Schedule,
};
use super::settings::{FaultKind, Settings};
use crate::kernel::faults::{NetworkFault, ProcessFault, StreamFault};
use crate::kernel::rng::{Rng, Stream};

const MS: u64 = 1_000;
/// As many entries as any list has.
const ENTRIES: u32 = 65_536;

impl Schedule {
    /// The run that follows from the settings.
    #[must_use]
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
        let mut maker = Maker {
            nodes,
            time: nanos(settings.time) / MS,
            span: 3 * options.renew_us,
            options: options.clone(),
            moves: 0,
            latest_us: latency_us.0 + latency_us.1,
            deviant: None,
            actions: Vec::new(),
            rng,
        };
        // Some runs leave the network in order: what holds there is not excused.
        let is_in_order = maker.rng.chance(300);
        let kinds: Vec<_> = settings.faults.iter().collect();
        for &kind in &kinds {
            // A run with half of all kinds finds what a run with all of them drowns.
            let share = if is_life(kind) { 600 } else { 350 };
            let is_left_out = is_in_order && spoils_order(kind) && kinds.len() >= 4;
            let is_drawn = kinds.len() < 4 || maker.rng.chance(share);
            if is_drawn && !is_left_out {
                maker.episodes(kind);
            }
        }
        maker.actions.sort_by_key(|action| action.at_us);
        let stay_dead = maker.stay_dead(&kinds);
        Self {
            about: String::new(),
            seed: settings.seed,
            nodes,
            time_us: maker.time,
            options,
            deviant: maker.deviant,
            data,
            latency_us,
            stay_dead,
            actions: maker.actions,
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
const fn spoils_order(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Drop
            | FaultKind::Reorder
            | FaultKind::Delay
            | FaultKind::Corrupt
            | FaultKind::Oneway
            | FaultKind::Partition
            | FaultKind::Deaf
            | FaultKind::Broadcast
            | FaultKind::Refuse
            | FaultKind::Stall
            | FaultKind::Slow
            | FaultKind::Forge
    )
}

struct Maker {
    rng: Rng,
    nodes: usize,
    /// All times here are in microseconds.
    time: u64,
    /// How long a fault lasts at most.
    span: u64,
    options: Given,
    /// How often nodes have got another address.
    moves: u32,
    /// The longest way of a datagram on a clear network.
    latest_us: u64,
    /// A node with other times.
    deviant: Option<Deviant>,
    actions: Vec<Action>,
}

/// Addresses that nodes have had stay in all lists: more would make rounds too long to wait for.
const MAX_MOVES: u32 = 3;

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
        if kind == FaultKind::Times {
            let least = least_interval(self.options.count);
            let interval_us = match self.rng.below(4) {
                // A restore that is over before an answer can be there hears none.
                0 => (self.options.interval_us / 10)
                    .max(2 * self.latest_us)
                    .max(least),
                1 => 3 * self.options.interval_us,
                2 => 10 * self.options.interval_us,
                _ => 2_000 * MS,
            };
            let node = self.node();
            self.deviant = Some(Deviant { node, interval_us });
            return;
        }
        let pause = match kind {
            FaultKind::Work | FaultKind::Yield | FaultKind::Forge => self.span / 6,
            FaultKind::Pause | FaultKind::Crash | FaultKind::Reset => self.span / 2,
            FaultKind::Address => 2 * self.span,
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
                let ms = self.rng.pick(&[10, 100, 1_000]);
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
            FaultKind::Partition => {
                let parts = self.rng.pick(&[2, 2, 3]);
                let groups = (0..self.nodes)
                    .map(|_| u8::try_from(self.rng.below(parts)).unwrap_or(0))
                    .collect();
                self.network(at, NetworkFault::Part { groups });
            }
            FaultKind::Replay => {
                let count = self.rng.pick(&[1, 5, 20]);
                self.at(at, Fault::Network(NetworkFault::Replay { count }));
            }
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
            FaultKind::Stranger | FaultKind::Flood | FaultKind::Forge => self.strange(at, kind),
            _ => self.node_episode(at, kind),
        }
    }

    fn strange(&mut self, at: u64, kind: FaultKind) {
        let node = self.node();
        match kind {
            FaultKind::Stranger => {
                let count = self.rng.pick(&[1, 5, 20]);
                self.at(at, Fault::Stranger { node, count });
            }
            FaultKind::Flood => {
                let count = self.rng.pick(&[20, 200]);
                self.at(at, Fault::Flood { node, count });
            }
            _ => {
                let claim = self.rng.pick(&[
                    Claim::Same,
                    Claim::Below,
                    Claim::Below,
                    Claim::Above,
                    Claim::Above,
                    Claim::Largest,
                ]);
                let fault = if self.rng.chance(600) {
                    Fault::Announce { claim }
                } else {
                    Fault::Give { node, claim }
                };
                self.at(at, fault);
            }
        }
    }

    fn node_episode(&mut self, at: u64, kind: FaultKind) {
        let node = self.node();
        match kind {
            FaultKind::Pause => self.pause(at, node),
            FaultKind::Crash => self.crash(at),
            FaultKind::Power => self.span(at, Fault::Power { node }, Fault::Start { node }),
            FaultKind::Leave => self.span(at, Fault::Leave { node }, Fault::Start { node }),
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
            FaultKind::Broadcast => {
                let (fault, end) = (
                    Fault::Unreached {
                        node,
                        unreached: true,
                    },
                    Fault::Unreached {
                        node,
                        unreached: false,
                    },
                );
                self.span(at, fault, end);
            }
            FaultKind::Link => {
                let end = Fault::Link { node, up: true };
                self.span(at, Fault::Link { node, up: false }, end);
            }
            FaultKind::Address if self.moves < MAX_MOVES => {
                self.moves += 1;
                self.at(at, Fault::Address { node });
            }
            FaultKind::Jobs => {
                let mood = self
                    .rng
                    .pick(&[Mood::Slow, Mood::Fail, Mood::Hang, Mood::Linger]);
                let end = Fault::Jobs {
                    node,
                    mood: Mood::Quick,
                };
                self.span(at, Fault::Jobs { node, mood }, end);
            }
            FaultKind::Work => {
                let lasts = self.rng.pick(&[MS, 50 * MS, self.options.renew_us]);
                self.at(at, Fault::Work { node, wants: true });
                self.at(at + lasts, Fault::Work { node, wants: false });
            }
            FaultKind::Yield => self.at(at, Fault::Yield { node }),
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
        } = self.options;
        let try_us = interval_us * u64::from(count);
        let about = self.rng.pick(&[
            interval_us,
            2 * try_us - interval_us,
            2 * try_us,
            pass_us,
            renew_us,
            renew_us + 2 * try_us,
            2 * renew_us,
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
            self.at(start + lasts, Fault::Start { node });
        }
    }
}
