//! Asking for a place or for another successor, and claiming when that is no use (`docs/board.md`, sections 5 and 6).

use super::Andrews;
use crate::andrews::Event;
use crate::andrews::message::Said;
use crate::andrews::ring::{PleaStep, Situation};
use crate::time::Instant;

impl Andrews {
    /// The next step of a JOIN or a SUCCESSOR_REQUEST, after a look that says that it is still needed.
    pub(super) fn step_plea(&mut self) {
        let options = &self.options;
        let is_still = self.is_beat_still(options.still_timeout());
        let is_alone = self.is_beat_still(options.lonely_timeout());
        let failed = self.role.failed();
        let (Some(view), Some(plea)) = (&self.view, self.role.plea_mut()) else {
            return;
        };
        let situation = Situation {
            now: self.now,
            ack_timeout: options.ack_timeout,
            alone_timeout: options.alone_timeout,
            read_at: view.read_at(),
            seat: view.seat(),
            beat: view.beat(),
            is_coordinator: self.duties.is_some(),
            failed,
            is_still,
            is_alone,
        };
        match plea.step(situation, &self.proof) {
            PleaStep::None => return,
            PleaStep::Look => {}
            PleaStep::Ask {
                coordinator,
                is_unanswered,
            } => {
                if is_unanswered {
                    self.out.event(Event::Unanswered { id: coordinator });
                }
                let said = if failed.is_some() {
                    Said::SuccessorRequest
                } else {
                    Said::Join
                };
                self.out.send(&self.list, coordinator, &said);
            }
        }
        self.look_for_proof();
    }

    /// Connects to the coordinator and to one other member, to see whether the network is there.
    fn look_for_proof(&mut self) {
        let own = self.options.id;
        let Some(view) = &self.view else {
            return;
        };
        let coordinator = view.seat().id.filter(|&id| id != own);
        let count = u32::try_from(view.len()).unwrap_or(u32::MAX);
        let first = self.draw.below(count) as usize;
        let mut others = view.members().skip(first).chain(view.members().take(first));
        let other = others.find(|&id| id != own && Some(id) != coordinator);
        for id in coordinator.into_iter().chain(other) {
            if self.list.address(id).is_some() {
                self.proof.want(id);
            }
        }
    }

    /// The next step waits for a look.
    pub(super) fn on_plea_due(&mut self) {
        if self.role.plea().is_some_and(|plea| plea.due() <= self.now) {
            self.database.want_look();
        }
    }

    pub(super) fn plea_due(&self) -> Option<Instant> {
        let due = self.role.plea()?.due();
        // What is due already waits for the database.
        (due > self.now).then_some(due)
    }
}
