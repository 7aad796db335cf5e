//! Draws what goes wrong in a run, as far as worlds have it in common.

use super::faults::{Fault, NetworkFault, ProcessFault, StreamFault};
use super::kinds::{Kind, Trouble};
use super::rng::Rng;
use super::schedule::{self, Action, Fault as _};

/// A millisecond; all times here are in microseconds.
pub const MS: u64 = 1_000;

/// What a world draws with.
pub trait Draws: Sized {
    /// What may go wrong in it.
    type Fault;

    /// From what the common faults are drawn.
    const CHOICES: Choices;

    /// Whom a fault is about.
    fn node(draw: &mut Draw<Self>) -> usize {
        draw.rng.index(draw.nodes)
    }
}

/// From what faults are drawn that worlds have in common.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    /// How long a fault lasts at least.
    pub shortest: u64,
    /// How long a process is dead at most that is soon back.
    pub soon: u64,
    /// Of [`NetworkFault::Reorder`], in milliseconds.
    pub reorder_ms: &'static [u64],
    /// Of [`NetworkFault::Delay`], in milliseconds.
    pub delay_ms: &'static [u64],
    /// The same.
    pub jitter_ms: &'static [u64],
    /// How often messages are sent again in a span.
    pub replays: u64,
    /// Of [`ProcessFault::Slow`].
    pub slow_us: &'static [u64],
    /// Of [`ProcessFault::Rate`].
    pub rates: &'static [i32],
}

/// A schedule's actions while they are drawn.
pub struct Draw<X: Draws> {
    /// What draws them.
    pub rng: Rng,
    /// How many nodes there are.
    pub nodes: usize,
    /// How long the faults last.
    pub time: u64,
    /// How long a fault lasts at most.
    pub span: u64,
    /// What was drawn so far.
    pub actions: Vec<Action<X::Fault>>,
    /// What only this world draws with.
    pub own: X,
}

impl<X: Draws> Draw<X> {
    /// Whom a fault is about.
    pub fn node(&mut self) -> usize {
        X::node(self)
    }

    /// Something goes wrong at a time, unless the run is over by then.
    pub fn at(&mut self, at_us: u64, fault: X::Fault) {
        if at_us < self.time {
            self.actions.push(Action { at_us, fault });
        }
    }

    /// An episode every now and then, `pause` apart on average.
    pub fn repeat(&mut self, pause: u64, mut episode: impl FnMut(&mut Self, u64)) {
        let mut at = self.rng.below(pause);
        while at < self.time {
            episode(self, at);
            at += 1 + self.rng.below(2 * pause);
        }
    }

    /// A group for each node.
    pub fn groups(&mut self, parts: u64) -> Vec<u8> {
        let groups = (0..self.nodes).map(|_| self.rng.below(parts));
        groups
            .map(|group| u8::try_from(group).unwrap_or(0))
            .collect()
    }
}

impl<W: schedule::Fault, X: Draws<Fault = Fault<W>>> Draw<X> {
    /// Something of this world only.
    pub fn once(&mut self, at: u64, fault: W) {
        self.at(at, Fault::World(fault));
    }

    /// Something of this world only that ends.
    pub fn span(&mut self, at: u64, fault: W) {
        self.lasts(at, Fault::World(fault));
    }

    fn lasts(&mut self, at: u64, fault: Fault<W>) {
        let lasts = self.rng.between(X::CHOICES.shortest, self.span);
        let end = fault.end();
        self.at(at, fault);
        self.at(at + lasts, end);
    }

    fn network(&mut self, at: u64, fault: NetworkFault) {
        self.lasts(at, Fault::Network(fault));
    }

    /// Something happens to connections for a while.
    pub fn streams(&mut self, at: u64, fault: StreamFault) {
        self.lasts(at, Fault::Stream(fault));
    }

    fn process(&mut self, at: u64, fault: ProcessFault) {
        self.lasts(at, Fault::Process(fault));
    }

    /// An episode of a kind that worlds have in common, as far as they do; `false`: it is not one of these.
    pub fn common_episode(&mut self, at: u64, kind: impl Kind) -> bool {
        let Some(trouble) = kind.trouble() else {
            return false;
        };
        match trouble {
            Trouble::Drop => {
                let rate = self.rng.pick(&[50, 200, 500, 900]);
                self.network(at, NetworkFault::Drop { rate });
            }
            Trouble::Duplicate => {
                let rate = self.rng.pick(&[100, 500]);
                self.network(at, NetworkFault::Duplicate { rate });
            }
            Trouble::Reorder => {
                let rate = self.rng.pick(&[50, 200, 500]);
                let ms = self.rng.pick(X::CHOICES.reorder_ms);
                self.network(at, NetworkFault::Reorder { rate, ms });
            }
            Trouble::Delay => {
                let ms = self.rng.pick(X::CHOICES.delay_ms);
                let jitter_ms = self.rng.pick(X::CHOICES.jitter_ms);
                self.network(at, NetworkFault::Delay { ms, jitter_ms });
            }
            Trouble::Corrupt => {
                let rate = self.rng.pick(&[20, 200]);
                self.network(at, NetworkFault::Corrupt { rate });
            }
            Trouble::OneWay => {
                let (node, by) = (self.node(), self.node());
                if node != by {
                    self.network(at, NetworkFault::Unheard { node, by });
                }
            }
            Trouble::Partition => {
                let parts = self.rng.pick(&[2, 2, 3]);
                let groups = self.groups(parts);
                self.network(at, NetworkFault::Part { groups });
            }
            Trouble::Replay => {
                let count = self.rng.pick(&[1, 5, 20]);
                let replay = NetworkFault::Replay { count };
                for again in 0..X::CHOICES.replays {
                    let at = at + again * self.span / X::CHOICES.replays;
                    self.at(at, Fault::Network(replay.clone()));
                }
            }
            Trouble::Clock => {
                let node = self.node();
                let millionths = self.rng.pick(X::CHOICES.rates);
                let fault = ProcessFault::Rate { node, millionths };
                self.at(at, Fault::Process(fault));
            }
            Trouble::Slow => {
                let node = self.node();
                let us = self.rng.pick(X::CHOICES.slow_us);
                self.process(at, ProcessFault::Slow { node, us });
            }
            Trouble::Refuse => {
                let node = self.node();
                let rate = self.rng.pick(&[100, 900]);
                self.process(at, ProcessFault::Refuse { node, rate });
            }
            Trouble::Deaf => {
                let node = self.node();
                self.process(at, ProcessFault::Deaf { node, deaf: true });
            }
            _ => return false,
        }
        true
    }

    /// A process stands still, for about as long as one of the times that others wait for.
    pub fn stall(&mut self, at: u64, about: &[u64], pause: W) {
        let about = self.rng.pick(about);
        let lasts = self.rng.between(about / 2, about + about / 2);
        let resume = pause.end();
        self.once(at, pause);
        self.once(at + lasts, resume);
    }

    /// For how long a process is dead.
    pub fn downtime(&mut self) -> u64 {
        let most = if self.rng.chance(400) {
            X::CHOICES.soon
        } else {
            self.span
        };
        self.rng.between(MS, most)
    }

    /// One process dies, or several at once; each is soon there again, or stays away for long.
    pub fn crash(&mut self, at: u64, death: impl Fn(usize) -> W) {
        for _ in 0..self.rng.pick(&[1, 1, 1, 2, 4]) {
            let death = death(self.node());
            let lasts = self.downtime();
            let begins = at + self.rng.below(50 * MS);
            let start = death.end();
            self.once(begins, death);
            self.once(begins + lasts, start);
        }
    }

    /// In some of the runs in which processes die one of them is not started again.
    pub fn stay_dead(&mut self, dies: bool) -> Vec<usize> {
        if self.nodes > 2 && dies && self.rng.chance(300) {
            vec![self.node()]
        } else {
            Vec::new()
        }
    }
}
