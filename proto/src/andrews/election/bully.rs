//! BULLY: the node that gets no answer from a larger node has won.

use ring_codec::andrews::Method;

use super::handler::{Handler, Step, Turn};
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

    fn start(&mut self, turn: &mut Turn<'_>) {
        self.begin(turn);
    }

    fn handle(&mut self, from: u32, ballot: Ballot, turn: &mut Turn<'_>) {
        let scene = turn.scene;
        match ballot {
            Ballot::Bully if from > scene.own => turn.drop(Reason::Larger),
            Ballot::Bully => {
                turn.want(Step::Tell(from, Ballot::Ok));
                if matches!(self.phase, Phase::Idle) {
                    self.begin_again(turn);
                }
            }
            Ballot::Ok => match self.phase {
                Phase::Asking(_) if from > scene.own => {
                    self.phase = Phase::Yielding(turn.result_due());
                }
                _ => turn.drop(Reason::Unasked),
            },
            Ballot::Coordinator(_, id) if id != from => turn.drop(Reason::NotItself),
            Ballot::Coordinator(_, id) => {
                self.phase = Phase::Idle;
                if id < scene.own && scene.members.contains_key(&id) {
                    self.begin_again(turn);
                }
                turn.want(Step::Result(id));
            }
            _ => {}
        }
    }

    fn time_out(&mut self, turn: &mut Turn<'_>) {
        match self.phase {
            Phase::Idle => {}
            Phase::Asking(_) => self.win(turn),
            Phase::Yielding(_) => self.begin(turn),
        }
    }

    fn due(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle => None,
            Phase::Asking(until) | Phase::Yielding(until) => Some(until),
        }
    }
}

impl Bully {
    fn begin(&mut self, turn: &mut Turn<'_>) {
        let scene = turn.scene;
        turn.memory.bully.note(scene.now);
        if scene.largest().is_none_or(|largest| largest <= scene.own) {
            return self.win(turn);
        }
        self.phase = Phase::Asking(scene.now + scene.t1);
        turn.want(Step::TellLarger(Ballot::Bully));
    }

    /// Begins because of a message: once per T1 at most.
    fn begin_again(&mut self, turn: &mut Turn<'_>) {
        if (turn.memory.bully).is_open(turn.scene.now, turn.scene.t1) {
            self.begin(turn);
        }
    }

    fn win(&mut self, turn: &mut Turn<'_>) {
        self.phase = Phase::Idle;
        let result = Ballot::Coordinator(Method::Bully, turn.scene.own);
        turn.steps.extend([Step::TellAll(result), Step::Won]);
    }
}
