//! RING_BASED: the ids of all nodes are collected on the way round.

use ring_codec::U32;
use ring_codec::andrews::Method;

use super::memory::Memory;
use super::{Handler, Scene, Step, send_result};
use crate::andrews::Reason;
use crate::andrews::message::Ballot;
use crate::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct RingBased {
    /// Until when a result is waited for.
    until: Option<Instant>,
}

impl Handler for RingBased {
    fn method(&self) -> Method {
        Method::RingBased
    }

    fn start(&mut self, scene: Scene<'_>, _: &mut Memory, steps: &mut Vec<Step>) {
        self.until = Some(scene.now + scene.t1 * 2);
        let ids = vec![U32::new(scene.own)];
        steps.push(Step::Ring(Ballot::RingBased(ids)));
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
            Ballot::RingBased(ids) => self.on_election(ids, scene, memory, steps),
            Ballot::Coordinator(method, id) => {
                send_result(method, id, scene, memory, steps);
                self.until = None;
                steps.push(Step::Result(id));
            }
            _ => {}
        }
    }

    fn time_out(&mut self, _: Scene<'_>, _: &mut Memory, _: &mut Vec<Step>) {
        self.until = None;
    }

    fn due(&self) -> Option<Instant> {
        self.until
    }

    fn is_ongoing(&self) -> bool {
        self.until.is_some()
    }

    fn successor_changed(&mut self) {}
}

impl RingBased {
    fn on_election(
        &mut self,
        mut ids: Vec<U32>,
        scene: Scene<'_>,
        memory: &mut Memory,
        steps: &mut Vec<Step>,
    ) {
        let most = scene.list.len();
        if ids.is_empty() || ids.len() > most {
            return steps.push(Step::Drop(Reason::Candidates));
        }
        let own = ids.iter().position(|id| id.get() == scene.own);
        let Some(own) = own else {
            // Then some are in it that are not in the list.
            if ids.len() == most {
                return steps.push(Step::Drop(Reason::Candidates));
            }
            ids.push(U32::new(scene.own));
            self.until.get_or_insert(scene.now + scene.t1 * 2);
            return steps.push(Step::Ring(Ballot::RingBased(ids)));
        };
        // It has come round: if not to who has started it, then that one is gone, and those before this node are.
        let round = ids.iter().skip(own).map(|id| id.get());
        let known = round.filter(|&id| scene.list.address(id).is_some());
        if let Some(largest) = known.max() {
            send_result(Method::RingBased, largest, scene, memory, steps);
        }
    }
}
