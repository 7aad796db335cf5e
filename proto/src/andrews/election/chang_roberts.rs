//! CHANG_ROBERTS: only the best candidate goes on.

use std::cmp::Ordering;

use ring_codec::andrews::Method;

use super::memory::Memory;
use super::{Handler, Scene, Step, send_result};
use crate::andrews::Reason;
use crate::andrews::message::Ballot;
use crate::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct ChangRoberts {
    /// Until when this node is a participant: a message that gets lost blocks no later election.
    participant: Option<Instant>,
}

impl Handler for ChangRoberts {
    fn method(&self) -> Method {
        Method::ChangRoberts
    }

    fn start(&mut self, scene: Scene<'_>, memory: &mut Memory, steps: &mut Vec<Step>) {
        self.propose(scene.own, scene, memory, steps);
    }

    fn handle(
        &mut self,
        _: u32,
        ballot: Ballot,
        scene: Scene<'_>,
        memory: &mut Memory,
        steps: &mut Vec<Step>,
    ) {
        match ballot {
            Ballot::ChangRoberts(candidate) => {
                self.on_candidate(candidate, scene, memory, steps);
            }
            Ballot::Coordinator(method, id) => {
                send_result(method, id, scene, memory, steps);
                self.participant = None;
                steps.push(Step::Result(id));
            }
            _ => {}
        }
    }

    fn time_out(&mut self, _: Scene<'_>, _: &mut Memory, _: &mut Vec<Step>) {
        self.participant = None;
    }

    fn due(&self) -> Option<Instant> {
        self.participant
    }

    fn is_ongoing(&self) -> bool {
        self.participant.is_some()
    }

    fn successor_changed(&mut self) {
        self.participant = None;
    }
}

impl ChangRoberts {
    fn propose(
        &mut self,
        candidate: u32,
        scene: Scene<'_>,
        memory: &mut Memory,
        steps: &mut Vec<Step>,
    ) {
        self.participant = Some(scene.now + scene.t1 * 2);
        memory.candidates.force(candidate, scene.now);
        steps.push(Step::Ring(Ballot::ChangRoberts(candidate)));
    }

    fn on_candidate(
        &mut self,
        candidate: u32,
        scene: Scene<'_>,
        memory: &mut Memory,
        steps: &mut Vec<Step>,
    ) {
        match candidate.cmp(&scene.own) {
            Ordering::Equal => {
                send_result(Method::ChangRoberts, scene.own, scene, memory, steps);
            }
            Ordering::Greater if scene.list.address(candidate).is_none() => {
                steps.push(Step::Drop(Reason::UnknownNode));
            }
            // Its owner is gone, or this node would have heard the result.
            Ordering::Greater if !memory.candidates.note(candidate, scene.now, scene.t1) => {
                steps.push(Step::Drop(Reason::Repeated));
            }
            Ordering::Greater => self.propose(candidate, scene, memory, steps),
            Ordering::Less if self.participant.is_some() => {
                steps.push(Step::Drop(Reason::Outbid));
            }
            Ordering::Less => self.propose(scene.own, scene, memory, steps),
        }
    }
}
