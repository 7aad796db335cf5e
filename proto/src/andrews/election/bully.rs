//! BULLY: whoever gets no answer from a larger node has won.

use std::cmp::Ordering;

use ring_codec::andrews::Method;

use super::memory::Memory;
use super::{Handler, Scene, Step};
use crate::andrews::Reason;
use crate::andrews::message::Ballot;
use crate::time::Instant;

/// What an election waits for.
#[derive(Debug, Clone, Copy, Default)]
enum Phase {
    #[default]
    Idle,
    /// An OK of a larger node.
    Asking(Instant),
    /// A larger node's COORDINATOR.
    Yielding(Instant),
}

#[derive(Debug, Default)]
pub(crate) struct Bully {
    phase: Phase,
}

impl Handler for Bully {
    fn method(&self) -> Method {
        Method::Bully
    }

    fn start(&mut self, scene: Scene<'_>, memory: &mut Memory, steps: &mut Vec<Step>) {
        self.begin(scene, memory, steps);
    }

    fn handle(
        &mut self,
        from: u32,
        ballot: Ballot,
        scene: Scene<'_>,
        memory: &mut Memory,
        steps: &mut Vec<Step>,
    ) {
        match ballot {
            Ballot::Bully if from > scene.own => steps.push(Step::Drop(Reason::Larger)),
            Ballot::Bully => {
                steps.push(Step::Tell(from, Ballot::Ok));
                if matches!(self.phase, Phase::Idle) {
                    self.begin_again(scene, memory, steps);
                }
            }
            Ballot::Ok => match self.phase {
                Phase::Asking(_) if from > scene.own => {
                    self.phase = Phase::Yielding(scene.now + scene.t1 * 2);
                }
                _ => steps.push(Step::Drop(Reason::Unasked)),
            },
            Ballot::Coordinator(_, id) if id != from => {
                steps.push(Step::Drop(Reason::NotItself));
            }
            Ballot::Coordinator(_, id) => {
                self.phase = Phase::Idle;
                match id.cmp(&scene.own) {
                    Ordering::Less if scene.view.is_member(id) => {
                        self.begin_again(scene, memory, steps);
                    }
                    _ => {}
                }
                steps.push(Step::Result(id));
            }
            _ => {}
        }
    }

    fn time_out(&mut self, scene: Scene<'_>, memory: &mut Memory, steps: &mut Vec<Step>) {
        match self.phase {
            Phase::Idle => {}
            Phase::Asking(_) => self.win(scene, steps),
            Phase::Yielding(_) => self.begin(scene, memory, steps),
        }
    }

    fn due(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle => None,
            Phase::Asking(until) | Phase::Yielding(until) => Some(until),
        }
    }

    fn is_ongoing(&self) -> bool {
        !matches!(self.phase, Phase::Idle)
    }

    fn successor_changed(&mut self) {}
}

impl Bully {
    fn begin(&mut self, scene: Scene<'_>, memory: &mut Memory, steps: &mut Vec<Step>) {
        memory.bully.note(scene.now);
        if scene
            .view
            .largest()
            .is_none_or(|largest| largest <= scene.own)
        {
            return self.win(scene, steps);
        }
        self.phase = Phase::Asking(scene.now + scene.t1);
        steps.push(Step::TellLarger(Ballot::Bully));
    }

    /// Begins because of a message: once per T1 at most.
    fn begin_again(&mut self, scene: Scene<'_>, memory: &mut Memory, steps: &mut Vec<Step>) {
        if memory.bully.is_open(scene.now, scene.t1) {
            self.begin(scene, memory, steps);
        }
    }

    fn win(&mut self, scene: Scene<'_>, steps: &mut Vec<Step>) {
        self.phase = Phase::Idle;
        let result = Ballot::Coordinator(Method::Bully, scene.own);
        steps.extend([Step::TellAll(result), Step::Won]);
    }
}
