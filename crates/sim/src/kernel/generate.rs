//! Generates the faults that the systems share.

use super::faults::{Fault, NetworkFault, ProcessFault, StreamFault};
use super::keys::{KeyPlan, NodeKeys};
use super::kinds::{FaultEffect, Kind};
use super::rng::{Rng, Stream};
use super::schedule::{self, Action, FaultFields as _};

/// A millisecond, in the microseconds that this module uses.
pub(crate) const MS: u64 = 1_000;

/// The system's part of the generator.
pub(crate) trait GeneratorOptions: Sized {
    type Fault;

    /// The values from which the common faults are drawn.
    const CHOICES: Choices;

    fn draw_node(generator: &mut Generator<Self>) -> usize {
        generator.rng.index(generator.nodes)
    }
}

/// The values from which the common faults are drawn; times are in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choices {
    /// The minimum duration of a fault.
    pub(crate) shortest: u64,
    /// The maximum downtime of a process that soon returns.
    pub(crate) soon: u64,
    /// Values of [`NetworkFault::Reorder`], in milliseconds.
    pub(crate) reorder_ms: &'static [u64],
    /// Values of [`NetworkFault::Delay`], in milliseconds.
    pub(crate) delay_ms: &'static [u64],
    /// Jitter values of [`NetworkFault::Delay`], in milliseconds.
    pub(crate) jitter_ms: &'static [u64],
    /// The number of replays in one episode.
    pub(crate) replays: u64,
    /// Values of [`ProcessFault::Slow`].
    pub(crate) slow_us: &'static [u64],
    /// Values of [`ProcessFault::Rate`].
    pub(crate) rates: &'static [i32],
}

/// A generator of a schedule's actions.
pub(crate) struct Generator<X: GeneratorOptions> {
    pub(crate) rng: Rng,
    pub(crate) nodes: usize,
    /// The duration of the run's faults.
    pub(crate) time: u64,
    /// The maximum duration of one fault.
    pub(crate) span: u64,
    /// The actions drawn before.
    pub(crate) actions: Vec<Action<X::Fault>>,
    /// The options of the system.
    pub(crate) options: X,
}

impl<X: GeneratorOptions> Generator<X> {
    pub(crate) fn draw_node(&mut self) -> usize {
        X::draw_node(self)
    }

    /// Adds a fault, unless the run's faults end before the time `at_us`.
    pub(crate) fn add(&mut self, at_us: u64, fault: X::Fault) {
        if at_us < self.time {
            self.actions.push(Action { at_us, fault });
        }
    }

    /// Adds episodes with an average interval of `pause`.
    pub(crate) fn repeat(&mut self, pause: u64, mut episode: impl FnMut(&mut Self, u64)) {
        let mut at = self.rng.below(pause);
        while at < self.time {
            episode(self, at);
            at += 1 + self.rng.below(2 * pause);
        }
    }

    pub(crate) fn draw_groups(&mut self, parts: u64) -> Vec<u8> {
        let groups = (0..self.nodes).map(|_| self.rng.below(parts));
        groups
            .map(|group| u8::try_from(group).unwrap_or(0))
            .collect()
    }
}

impl<W: schedule::FaultFields, X: GeneratorOptions<Fault = Fault<W>>> Generator<X> {
    pub(crate) fn add_fault(&mut self, at: u64, fault: W) {
        self.add(at, Fault::System(fault));
    }

    /// Adds a fault of one system, and its end.
    pub(crate) fn add_episode(&mut self, at: u64, fault: W) {
        self.add_temporary(at, Fault::System(fault));
    }

    fn add_temporary(&mut self, at: u64, fault: Fault<W>) {
        let lasts = self.rng.between(X::CHOICES.shortest, self.span);
        let end = fault.end();
        self.add(at, fault);
        self.add(at + lasts, end);
    }

    fn add_network_fault(&mut self, at: u64, fault: NetworkFault) {
        self.add_temporary(at, Fault::Network(fault));
    }

    /// Adds a fault of connections, and its end.
    pub(crate) fn add_stream_fault(&mut self, at: u64, fault: StreamFault) {
        self.add_temporary(at, Fault::Stream(fault));
    }

    fn add_process_fault(&mut self, at: u64, fault: ProcessFault) {
        self.add_temporary(at, Fault::Process(fault));
    }

    /// Adds an episode of a common kind; returns `false` for another kind.
    pub(crate) fn add_common_episode(&mut self, at: u64, kind: impl Kind) -> bool {
        let Some(trouble) = kind.effect() else {
            return false;
        };
        match trouble {
            FaultEffect::Drop => {
                let rate = self.rng.pick(&[50, 200, 500, 900]);
                self.add_network_fault(at, NetworkFault::Drop { rate });
            }
            FaultEffect::Duplicate => {
                let rate = self.rng.pick(&[100, 500]);
                self.add_network_fault(at, NetworkFault::Duplicate { rate });
            }
            FaultEffect::Reorder => {
                let rate = self.rng.pick(&[50, 200, 500]);
                let ms = self.rng.pick(X::CHOICES.reorder_ms);
                self.add_network_fault(at, NetworkFault::Reorder { rate, ms });
            }
            FaultEffect::Delay => {
                let ms = self.rng.pick(X::CHOICES.delay_ms);
                let jitter_ms = self.rng.pick(X::CHOICES.jitter_ms);
                self.add_network_fault(at, NetworkFault::Delay { ms, jitter_ms });
            }
            FaultEffect::Corrupt => {
                let rate = self.rng.pick(&[20, 200]);
                self.add_network_fault(at, NetworkFault::Corrupt { rate });
            }
            FaultEffect::OneWay => {
                let (node, by) = (self.draw_node(), self.draw_node());
                if node != by {
                    self.add_network_fault(at, NetworkFault::Unheard { node, by });
                }
            }
            FaultEffect::Partition => {
                let parts = self.rng.pick(&[2, 2, 3]);
                let groups = self.draw_groups(parts);
                self.add_network_fault(at, NetworkFault::Part { groups });
            }
            FaultEffect::Replay => {
                let count = self.rng.pick(&[1, 5, 20]);
                let replay = NetworkFault::Replay { count };
                for again in 0..X::CHOICES.replays {
                    let at = at + again * self.span / X::CHOICES.replays;
                    self.add(at, Fault::Network(replay.clone()));
                }
            }
            FaultEffect::Clock => {
                let node = self.draw_node();
                let millionths = self.rng.pick(X::CHOICES.rates);
                let fault = ProcessFault::Rate { node, millionths };
                self.add(at, Fault::Process(fault));
            }
            FaultEffect::Slow => {
                let node = self.draw_node();
                let us = self.rng.pick(X::CHOICES.slow_us);
                self.add_process_fault(at, ProcessFault::Slow { node, us });
            }
            FaultEffect::Refuse => {
                let node = self.draw_node();
                let rate = self.rng.pick(&[100, 900]);
                self.add_process_fault(at, ProcessFault::Refuse { node, rate });
            }
            FaultEffect::Deaf => {
                let node = self.draw_node();
                self.add_process_fault(at, ProcessFault::Deaf { node, deaf: true });
            }
            _ => return false,
        }
        true
    }

    /// Draws the keys of the run from its `seed`, and adds their changes and the attacks. The keys do not change the
    /// other faults of this seed. Returns the keys at the start.
    pub(crate) fn add_keys<K: Kind>(&mut self, seed: u64, kinds: &[K]) -> NodeKeys {
        self.rng = Rng::new(seed, Stream::Keys);
        let mut is_met = |effect| {
            let is_chosen = kinds.iter().any(|kind| kind.effect() == Some(effect));
            is_chosen && (kinds.len() < 4 || self.rng.chance(300))
        };
        let (is_attacked, changes) = (is_met(FaultEffect::Attack), is_met(FaultEffect::Keys));
        if !is_attacked && !changes {
            return NodeKeys::default();
        }
        let run = (self.nodes, self.time);
        let plan = KeyPlan::draw(&mut self.rng, run, is_attacked, changes);
        for (at, node, keys) in plan.changes {
            self.add(at, Fault::Process(ProcessFault::Keys { node, keys }));
        }
        if is_attacked {
            let pause = self.rng.pick(&[200, 1_000, 4_000]) * MS;
            self.repeat(pause, |generator, at| {
                let count = generator.rng.pick(&[1, 10, 100]);
                let ms = generator.rng.pick(&[1, 100, 2_000]);
                generator.add(at, Fault::Network(NetworkFault::Attack { count, ms }));
            });
        }
        plan.first
    }

    /// Stalls a process for about as long as one of the times in `about`, which are timeouts of the protocol.
    pub(crate) fn add_stall(&mut self, at: u64, about: &[u64], pause: W) {
        let about = self.rng.pick(about);
        let lasts = self.rng.between(about / 2, about + about / 2);
        let resume = pause.end();
        self.add_fault(at, pause);
        self.add_fault(at + lasts, resume);
    }

    /// Draws the downtime of a process.
    pub(crate) fn draw_downtime(&mut self) -> u64 {
        let most = if self.rng.chance(400) {
            X::CHOICES.soon
        } else {
            self.span
        };
        self.rng.between(MS, most)
    }

    /// Kills one or more processes. Each process starts again soon, or stays dead for a long time.
    pub(crate) fn add_crash(&mut self, at: u64, death: impl Fn(usize) -> W) {
        for _ in 0..self.rng.pick(&[1, 1, 1, 2, 4]) {
            let death = death(self.draw_node());
            let lasts = self.draw_downtime();
            let begins = at + self.rng.below(50 * MS);
            let start = death.end();
            self.add_fault(begins, death);
            self.add_fault(begins + lasts, start);
        }
    }

    /// Draws the processes that stay dead after the faults: one process, or no process. Processes stay dead only in
    /// some of the runs with dying processes.
    pub(crate) fn draw_stay_dead(&mut self, dies: bool) -> Vec<usize> {
        if self.nodes > 2 && dies && self.rng.chance(300) {
            vec![self.draw_node()]
        } else {
            Vec::new()
        }
    }
}
