//! Carries the bytes of connections through the network, with the network's faults.

use std::io::ErrorKind;

use super::kinds::FaultEffect;
use super::queue::Event;
use super::simulation::Simulation;
use super::streams::{Carrier, Pipe, Side, Step, StreamConditions, StreamFate};
use super::system::{Listens, Moment, Peer, System};

/// The interval, in nanoseconds, between two attempts to deliver a step that a split holds back.
const RETRY_NANOS: u64 = 200_000_000;
/// The upper limit of the random number of bytes after which a connection is reset or stalls.
const LONG_EXCHANGE_BYTES: u64 = 4096;
/// The upper limit of the random number of bytes for faults at the beginning of an exchange.
const SHORT_EXCHANGE_BYTES: u64 = 64;

impl<S: System> Simulation<S> {
    /// Sets the faults of new connections.
    pub fn set_stream_conditions(&mut self, conditions: StreamConditions) {
        self.stream_conditions = conditions;
    }

    /// Ends the faults of all connections, except that a stalled connection stays stalled.
    pub fn end_stream_faults(&mut self) {
        self.stream_conditions = StreamConditions::default();
        for pipe in &mut self.fabric.borrow_mut().pipes {
            let stalled = pipe.fate.stalls_at;
            pipe.fate = StreamFate {
                stalls_at: stalled.filter(|&at| pipe.delivered >= at),
                ..StreamFate::default()
            };
        }
    }

    /// Sends the steps that nodes have taken on their connections.
    pub(super) fn carry_streams(&mut self, leaves: u64) {
        if !S::Streams::ANY {
            return;
        }
        let steps = std::mem::take(&mut self.fabric.borrow_mut().steps);
        for step in steps {
            self.send(leaves, step);
        }
    }

    /// Reports data of connections that a node's state machine received although no node sent them.
    pub(super) fn report_forged_data(&mut self, node: usize) {
        if !S::Streams::ANY {
            return;
        }
        let forgeries = std::mem::take(&mut self.fabric.borrow_mut().forgeries);
        for what in forgeries {
            let at = self.now;
            self.system.on_forgery(Moment { at, node }, what.into());
        }
    }

    fn send(&mut self, leaves: u64, step: Step) {
        if let Step::Connect(pipe) = step {
            let fate = self.draw_fate();
            self.fabric.borrow_mut().pipes[pipe].fate = fate;
        }
        let (pipe, to) = step.place();
        let dribbles = self.fabric.borrow().pipes[pipe].fate.dribbles;
        match step {
            Step::Data(_, _, mut bytes) => {
                self.attack_data(leaves, pipe, to, &mut bytes);
                if !dribbles {
                    return self.push_step(leaves, Step::Data(pipe, to, bytes));
                }
                for byte in bytes {
                    self.push_step(leaves, Step::Data(pipe, to, vec![byte]));
                }
            }
            step => self.push_step(leaves, step),
        }
    }

    /// Sends a step to its end of the connection. The step arrives after all earlier steps to the same end that were
    /// sent before `leaves`.
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

    fn draw_fate(&mut self) -> StreamFate {
        let StreamConditions {
            unanswered,
            dribble,
            reset,
            stall,
            reset_at,
            half,
        } = self.stream_conditions;
        let is_reset = self.rng.chance(reset);
        let stalls = self.rng.chance(stall);
        let is_halved = self.rng.chance(half);
        let fate = StreamFate {
            unanswered: self.rng.chance(unanswered),
            dribbles: self.rng.chance(dribble),
            reset_at: reset_at.or_else(|| is_reset.then(|| self.draw_byte_count())),
            reset_end: is_reset
                .then(|| self.rng.pick(&[None, Some(0), Some(1)]))
                .flatten(),
            stalls_at: stalls.then(|| self.draw_byte_count()),
            half_at: is_halved.then(|| (self.draw_byte_count(), self.rng.index(2))),
        };
        for (met, trouble) in [
            (fate.unanswered, FaultEffect::Unanswered),
            (fate.dribbles, FaultEffect::Dribble),
            (fate.reset_at.is_some(), FaultEffect::Reset),
            (fate.stalls_at.is_some(), FaultEffect::Stall),
            (fate.half_at.is_some(), FaultEffect::Half),
        ] {
            if met {
                self.count_effect(trouble);
            }
        }
        fate
    }

    /// Draws a number of bytes. Half of the draws are small, because most messages are short.
    fn draw_byte_count(&mut self) -> u64 {
        let most = self.rng.pick(&[SHORT_EXCHANGE_BYTES, LONG_EXCHANGE_BYTES]);
        self.rng.below(most)
    }

    /// Whether nothing more arrives at the ends of a connection.
    fn is_stalled(&self, pipe: usize) -> bool {
        let pipe = &self.fabric.borrow().pipes[pipe];
        pipe.fate.stalls_at.is_some_and(|at| pipe.delivered >= at)
    }

    /// Whether two ends cannot reach each other.
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

    /// Delivers the next step that is on its way to an end.
    pub(super) fn deliver_step(&mut self, pipe: usize, to: Side) {
        if self.is_cut(pipe, to) {
            // A real kernel sends bytes without an acknowledgement again, so the step is only delayed.
            let is_over = self.has_waited_long(pipe, to);
            let next = if is_over {
                self.fabric.borrow_mut().pipes[pipe].ends[to].coming.clear();
                Event::GiveUp(pipe, 1 - to)
            } else {
                Event::Stream(pipe, to)
            };
            return self.queue.push(self.now + RETRY_NANOS, next);
        }
        let next = self.fabric.borrow_mut().pipes[pipe].ends[to]
            .coming
            .pop_front();
        let Some((sent, step)) = next else { return };
        let is_lost = {
            let pipe = &self.fabric.borrow().pipes[pipe];
            let is_after_end = pipe.halved == Some(to) && matches!(step, Step::Data(..));
            // A reset still arrives, because otherwise the ends would not learn that the connection is broken.
            (pipe.broken || is_after_end) && !matches!(step, Step::Reset(..))
        };
        if is_lost {
            return;
        }
        if self.is_stalled(pipe) {
            let ack_timeout = self.fabric.borrow().ack_timeout;
            // The timeout of the driver handles a connection that is not yet established.
            if let Some(ack_timeout) = ack_timeout.filter(|_| !matches!(step, Step::Connect(_))) {
                self.queue
                    .push(sent + ack_timeout, Event::GiveUp(pipe, 1 - to));
            }
            return;
        }
        match step {
            Step::Connect(pipe) => self.on_connect(pipe),
            Step::Answer(pipe, stands) => {
                self.change_end(pipe, 0, |pipe| {
                    if stands {
                        pipe.ends[0].established = true;
                    } else {
                        pipe.ends[0].error = Some(ErrorKind::ConnectionRefused);
                    }
                });
            }
            Step::Data(pipe, to, bytes) => self.on_data(pipe, to, &bytes),
            Step::Finish(pipe, to) => self.on_finish(pipe, to),
            Step::Reset(pipe, to) => self.change_end(pipe, to, |pipe| {
                let error = &mut pipe.ends[to].error;
                error.get_or_insert(ErrorKind::ConnectionReset);
            }),
            Step::Room(pipe, to) => self.change_end(pipe, to, |_| {}),
        }
    }

    /// Whether the steps to an end waited longer than the kernel allows.
    fn has_waited_long(&self, pipe: usize, to: Side) -> bool {
        let fabric = self.fabric.borrow();
        let sent = fabric.pipes[pipe].ends[to].coming.front();
        let since = sent.filter(|(_, step)| !matches!(step, Step::Connect(_)));
        since.is_some_and(|(sent, _)| {
            let over = fabric.ack_timeout.map(|ack_timeout| sent + ack_timeout);
            over.is_some_and(|over| over <= self.now)
        })
    }

    /// Times out a connection at one end.
    pub(super) fn give_up(&mut self, pipe: usize, side: Side) {
        self.change_end(pipe, side, |pipe| {
            let error = &mut pipe.ends[side].error;
            error.get_or_insert(ErrorKind::TimedOut);
        });
    }

    fn on_connect(&mut self, pipe: usize) {
        if self.answers_as_peer(pipe) {
            return;
        }
        let (at, fate, to) = {
            let fabric = self.fabric.borrow();
            let pipe = &fabric.pipes[pipe];
            (pipe.ends[1].node, pipe.fate, pipe.to)
        };
        let listens = at.map_or(Listens::No, |at| {
            S::answer_to_connect(&self.nodes[at].own, to)
        });
        if fate.unanswered || listens == Listens::Nowhere {
            return;
        }
        // A dead process does not listen, but its host still answers: the connection is refused.
        let listens = at.filter(|&at| listens == Listens::Yes && self.nodes[at].driver.is_some());
        let now = self.now;
        self.send(now, Step::Answer(pipe, listens.is_some()));
        if let Some(to) = listens {
            {
                let mut fabric = self.fabric.borrow_mut();
                fabric.pipes[pipe].ends[1].established = true;
                fabric.queue_accept(pipe, to);
            }
            self.run_if_free(to);
        }
    }

    fn on_data(&mut self, pipe: usize, to: usize, bytes: &[u8]) {
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
            self.reset_both_ends(pipe);
        } else if gone {
            // A real kernel answers data for a closed socket with a reset.
            self.send(now, Step::Reset(pipe, 1 - to));
        } else if reads {
            self.send(now, Step::Room(pipe, 1 - to));
        }
        self.change_end(pipe, to, |_| {});
    }

    fn on_finish(&mut self, pipe: usize, to: Side) {
        let is_reset = {
            let it = &mut self.fabric.borrow_mut().pipes[pipe];
            let ended = it.ended;
            it.ended = ended.saturating_add(1);
            it.fate.reset_end == Some(ended)
        };
        if is_reset {
            self.reset_both_ends(pipe);
        } else {
            self.change_end(pipe, to, |pipe| pipe.ends[to].finished = true);
        }
    }

    pub(super) fn reset_both_ends(&mut self, pipe: usize) {
        self.fabric.borrow_mut().pipes[pipe].broken = true;
        let now = self.now;
        self.send(now, Step::Reset(pipe, 0));
        self.send(now, Step::Reset(pipe, 1));
    }

    /// Changes a connection, and lets the node at one end handle the change.
    fn change_end(&mut self, pipe: usize, side: usize, change: impl FnOnce(&mut Pipe<Peer<S>>)) {
        let node = {
            let mut fabric = self.fabric.borrow_mut();
            change(&mut fabric.pipes[pipe]);
            fabric.notify(pipe, side)
        };
        if let Some(node) = node {
            self.run_if_free(node);
        }
    }

    /// Lets a node handle its connections if the node is free.
    fn run_if_free(&mut self, at: usize) {
        let node = &self.nodes[at];
        if node.is_running() && node.busy_until <= self.now {
            self.run_iteration(at, true);
        }
    }
}
