//! What becomes of connections on their way.

use std::io::ErrorKind;

use super::kinds::Trouble;
use super::queue::Event;
use super::streams::{Carrier, Fate, Pipe, Side, Step, StreamWeather};
use super::system::{Listens, Peer, System};
use super::world::World;

/// How long after a cut has kept something from arriving that is tried again, in nanoseconds.
const AGAIN: u64 = 200_000_000;
/// A connection that is reset or stalls at random does so after fewer bytes.
const MANY: u64 = 4096;
/// So many bytes are an exchange's beginning.
const FEW: u64 = 64;

impl<S: System> World<S> {
    /// What the network does to connections from now on.
    pub fn set_stream_weather(&mut self, weather: StreamWeather) {
        self.stream_weather = weather;
    }

    /// From now on nothing happens to connections any longer, those that stand included. One that has stalled stays so.
    pub fn clear_stream_weather(&mut self) {
        self.stream_weather = StreamWeather::default();
        for pipe in &mut self.fabric.borrow_mut().pipes {
            let stalled = pipe.fate.stalls_at;
            pipe.fate = Fate {
                stalls_at: stalled.filter(|&at| pipe.delivered >= at),
                ..Fate::default()
            };
        }
    }

    /// Puts what nodes have done to their connections on its way.
    pub(super) fn carry_streams(&mut self, leaves: u64) {
        if !S::Streams::ANY {
            return;
        }
        let steps = std::mem::take(&mut self.fabric.borrow_mut().steps);
        for step in steps {
            self.send(leaves, step);
        }
    }

    fn send(&mut self, leaves: u64, step: Step) {
        if let Step::Connect(pipe) = step {
            let fate = self.fate();
            self.fabric.borrow_mut().pipes[pipe].fate = fate;
        }
        let (pipe, to) = step.place();
        let dribbles = self.fabric.borrow().pipes[pipe].fate.dribbles;
        match step {
            Step::Data(_, _, bytes) if dribbles => {
                for byte in bytes {
                    self.push_step(leaves, Step::Data(pipe, to, vec![byte]));
                }
            }
            step => self.push_step(leaves, step),
        }
    }

    /// Sends a step to its end, where it arrives after all that was sent there before `leaves`.
    pub(super) fn push_step(&mut self, leaves: u64, step: Step) {
        let (pipe, to) = step.place();
        {
            let coming = &mut self.fabric.borrow_mut().pipes[pipe].ends[to].coming;
            let at = coming.partition_point(|&(sent, _)| sent <= leaves);
            coming.insert(at, (leaves, step));
        }
        let (least, spread) = self.network.latency;
        let due = leaves + least + self.rng.below(spread + 1);
        self.queue.push(due, Event::Stream(pipe, to));
    }

    fn fate(&mut self) -> Fate {
        let StreamWeather {
            unanswered,
            dribble,
            reset,
            stall,
            reset_at,
            half,
        } = self.stream_weather;
        let is_reset = self.rng.chance(reset);
        let stalls = self.rng.chance(stall);
        let is_halved = self.rng.chance(half);
        let fate = Fate {
            unanswered: self.rng.chance(unanswered),
            dribbles: self.rng.chance(dribble),
            reset_at: reset_at.or_else(|| is_reset.then(|| self.some_bytes())),
            reset_end: is_reset
                .then(|| self.rng.pick(&[None, Some(0), Some(1)]))
                .flatten(),
            stalls_at: stalls.then(|| self.some_bytes()),
            half_at: is_halved.then(|| (self.some_bytes(), self.rng.index(2))),
        };
        for (met, trouble) in [
            (fate.unanswered, Trouble::Unanswered),
            (fate.dribbles, Trouble::Dribble),
            (fate.reset_at.is_some(), Trouble::Reset),
            (fate.stalls_at.is_some(), Trouble::Stall),
            (fate.half_at.is_some(), Trouble::Half),
        ] {
            if met {
                self.meet(trouble);
            }
        }
        fate
    }

    /// In most messages there are few bytes, and what matters is among those.
    fn some_bytes(&mut self) -> u64 {
        let most = self.rng.pick(&[FEW, MANY]);
        self.rng.below(most)
    }

    /// Whether nothing arrives at a connection's ends any longer.
    fn is_stalled(&self, pipe: usize) -> bool {
        let pipe = &self.fabric.borrow().pipes[pipe];
        pipe.fate.stalls_at.is_some_and(|at| pipe.delivered >= at)
    }

    /// Whether two ends cannot reach each other just now.
    fn is_cut(&self, pipe: usize, to: usize) -> bool {
        let fabric = self.fabric.borrow();
        let ends = &fabric.pipes[pipe].ends;
        let Some((from, to)) = ends[1 - to].node.zip(ends[to].node) else {
            return false;
        };
        if from == to {
            return false;
        }
        let unplugged = self.nodes[from].unplugged || self.nodes[to].unplugged;
        unplugged || self.cut_between(from, to).is_some()
    }

    /// The next thing that is on its way to an end arrives.
    pub(super) fn arrive(&mut self, pipe: usize, to: Side) {
        if self.is_cut(pipe, to) {
            let is_over = self.has_waited_long(pipe, to);
            let next = if is_over {
                self.fabric.borrow_mut().pipes[pipe].ends[to].coming.clear();
                Event::GiveUp(pipe, 1 - to)
            } else {
                Event::Stream(pipe, to)
            };
            return self.queue.push(self.now + AGAIN, next);
        }
        let next = self.fabric.borrow_mut().pipes[pipe].ends[to]
            .coming
            .pop_front();
        let Some((sent, step)) = next else { return };
        let is_lost = {
            let pipe = &self.fabric.borrow().pipes[pipe];
            let is_after_end = pipe.halved == Some(to) && matches!(step, Step::Data(..));
            (pipe.broken || is_after_end) && !matches!(step, Step::Reset(..))
        };
        if is_lost {
            return;
        }
        if self.is_stalled(pipe) {
            let patience = self.fabric.borrow().patience;
            if let Some(patience) = patience.filter(|_| !matches!(step, Step::Connect(_))) {
                self.queue
                    .push(sent + patience, Event::GiveUp(pipe, 1 - to));
            }
            return;
        }
        match step {
            Step::Connect(pipe) => self.connect(pipe),
            Step::Answer(pipe, stands) => {
                self.change(pipe, 0, |pipe| {
                    if stands {
                        pipe.ends[0].established = true;
                    } else {
                        pipe.ends[0].error = Some(ErrorKind::ConnectionRefused);
                    }
                });
            }
            Step::Data(pipe, to, bytes) => self.data(pipe, to, &bytes),
            Step::Finish(pipe, to) => self.end_side(pipe, to),
            Step::Reset(pipe, to) => self.change(pipe, to, |pipe| {
                let error = &mut pipe.ends[to].error;
                error.get_or_insert(ErrorKind::ConnectionReset);
            }),
            Step::Room(pipe, to) => self.change(pipe, to, |_| {}),
        }
    }

    /// Whether what is on its way to an end has waited for longer than kernels do.
    fn has_waited_long(&self, pipe: usize, to: Side) -> bool {
        let fabric = self.fabric.borrow();
        let sent = fabric.pipes[pipe].ends[to].coming.front();
        let since = sent.filter(|(_, step)| !matches!(step, Step::Connect(_)));
        since.is_some_and(|(sent, _)| {
            let over = fabric.patience.map(|patience| sent + patience);
            over.is_some_and(|over| over <= self.now)
        })
    }

    /// An end's kernel gives a connection up.
    pub(super) fn give_up(&mut self, pipe: usize, side: Side) {
        self.change(pipe, side, |pipe| {
            let error = &mut pipe.ends[side].error;
            error.get_or_insert(ErrorKind::TimedOut);
        });
    }

    fn connect(&mut self, pipe: usize) {
        let (at, fate, to) = {
            let fabric = self.fabric.borrow();
            let pipe = &fabric.pipes[pipe];
            (pipe.ends[1].node, pipe.fate, pipe.to)
        };
        let listens = at.map_or(Listens::No, |at| S::listens(&self.nodes[at].own, to));
        if fate.unanswered || listens == Listens::Nowhere {
            return;
        }
        let listens = at.filter(|&at| listens == Listens::Yes && self.nodes[at].driver.is_some());
        let now = self.now;
        self.send(now, Step::Answer(pipe, listens.is_some()));
        if let Some(to) = listens {
            {
                let mut fabric = self.fabric.borrow_mut();
                fabric.pipes[pipe].ends[1].established = true;
                fabric.offer(pipe, to);
            }
            self.look(to);
        }
    }

    fn data(&mut self, pipe: usize, to: usize, bytes: &[u8]) {
        let (gone, reads, cut_short) = {
            let mut fabric = self.fabric.borrow_mut();
            let pipe = &mut fabric.pipes[pipe];
            let sender = &mut pipe.ends[1 - to];
            sender.flying = sender.flying.saturating_sub(bytes.len());
            let left = pipe
                .fate
                .reset_at
                .map(|at| at.saturating_sub(pipe.delivered));
            let whole = bytes.len() as u64;
            let cut_short = left.filter(|&left| left < whole);
            let mut count = usize::try_from(cut_short.unwrap_or(whole)).unwrap_or(bytes.len());
            if let Some((at, _)) = pipe.fate.half_at.filter(|(_, side)| *side == to) {
                let left = usize::try_from(at.saturating_sub(pipe.delivered)).unwrap_or(count);
                if left < count {
                    count = left;
                    pipe.halved = Some(to);
                    pipe.ends[to].finished = true;
                }
            }
            pipe.delivered += count as u64;
            let end = &mut pipe.ends[to];
            if !end.reads && end.error.is_none() {
                end.unread.extend(&bytes[..count]);
            }
            (end.gone, end.reads, cut_short.is_some())
        };
        let now = self.now;
        if cut_short {
            self.break_off(pipe);
        } else if gone {
            self.send(now, Step::Reset(pipe, 1 - to));
        } else if reads {
            self.send(now, Step::Room(pipe, 1 - to));
        }
        self.change(pipe, to, |_| {});
    }

    fn end_side(&mut self, pipe: usize, to: Side) {
        let is_reset = {
            let it = &mut self.fabric.borrow_mut().pipes[pipe];
            let ended = it.ended;
            it.ended = ended.saturating_add(1);
            it.fate.reset_end == Some(ended)
        };
        if is_reset {
            self.break_off(pipe);
        } else {
            self.change(pipe, to, |pipe| pipe.ends[to].finished = true);
        }
    }

    /// The network resets a connection.
    fn break_off(&mut self, pipe: usize) {
        self.fabric.borrow_mut().pipes[pipe].broken = true;
        let now = self.now;
        self.send(now, Step::Reset(pipe, 0));
        self.send(now, Step::Reset(pipe, 1));
    }

    /// Changes a connection, and has the node at one of its ends look at it.
    fn change(&mut self, pipe: usize, side: usize, change: impl FnOnce(&mut Pipe<Peer<S>>)) {
        let node = {
            let mut fabric = self.fabric.borrow_mut();
            change(&mut fabric.pipes[pipe]);
            fabric.notify(pipe, side)
        };
        if let Some(node) = node {
            self.look(node);
        }
    }

    /// A node's connections have changed: it looks at them as soon as it can.
    fn look(&mut self, at: usize) {
        let node = &self.nodes[at];
        if node.is_running() && node.busy_until <= self.now {
            self.turn(at, true);
        }
    }
}
