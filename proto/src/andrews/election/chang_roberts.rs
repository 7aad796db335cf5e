//! CHANG_ROBERTS: only the best candidate goes on.

use std::cmp::Ordering;

use ring_codec::andrews::Method;

use super::handler::{Handler, Step, Turn};
use crate::andrews::Reason;
use crate::andrews::message::Ballot;
use crate::time::Instant;

#[derive(Debug, Default)]
pub(super) struct ChangRoberts {
    /// Until when this node is a participant: a message that gets lost blocks no later election.
    participant: Option<Instant>,
}

impl Handler for ChangRoberts {
    fn method(&self) -> Method {
        Method::ChangRoberts
    }

    fn start(&mut self, turn: &mut Turn<'_>) {
        self.propose(turn.scene.own, turn);
    }

    fn handle(&mut self, _: u32, ballot: Ballot, turn: &mut Turn<'_>) {
        match ballot {
            Ballot::ChangRoberts(candidate) => self.on_candidate(candidate, turn),
            Ballot::Coordinator(method, id) => {
                turn.send_result(method, id);
                self.participant = None;
                turn.want(Step::Result(id));
            }
            _ => {}
        }
    }

    fn time_out(&mut self, _: &mut Turn<'_>) {
        self.participant = None;
    }

    fn due(&self) -> Option<Instant> {
        self.participant
    }

    fn successor_changed(&mut self) {
        self.participant = None;
    }
}

impl ChangRoberts {
    fn propose(&mut self, candidate: u32, turn: &mut Turn<'_>) {
        self.participant = Some(turn.result_due());
        turn.memory.candidates.force(candidate, turn.scene.now);
        turn.want(Step::Ring(Ballot::ChangRoberts(candidate)));
    }

    fn on_candidate(&mut self, candidate: u32, turn: &mut Turn<'_>) {
        let scene = turn.scene;
        match candidate.cmp(&scene.own) {
            Ordering::Equal => turn.send_result(Method::ChangRoberts, scene.own),
            Ordering::Greater if !scene.lists(candidate) => turn.drop(Reason::UnknownNode),
            Ordering::Greater => {
                let candidates = &mut turn.memory.candidates;
                if candidates.note(candidate, scene.now, scene.t1) {
                    self.propose(candidate, turn);
                } else {
                    // Its owner is gone, or this node would have heard the result.
                    turn.drop(Reason::Repeated);
                }
            }
            Ordering::Less if self.participant.is_some() => turn.drop(Reason::Outbid),
            Ordering::Less => self.propose(scene.own, turn),
        }
    }
}
