//! Requests for a place in the ring or for a new successor. If a request has no effect, the node claims the place of
//! the coordinator (`docs/board/protocol/members.md`, rules S; `failures.md`, rules F and A).

use super::Andrews;
use crate::andrews::Event;
use crate::andrews::message::OwnedMessage;
use crate::andrews::ring::{RequestStep, StepInput};
use crate::time::Instant;

impl Andrews {
    /// If a look shows that a JOIN or SUCCESSOR_REQUEST is still necessary, takes the next step of this request.
    pub(super) fn step_repeated_request(&mut self) {
        let options = &self.options;
        let is_beat_late = self.is_beat_stalled(options.beat_timeout_with_proof());
        let is_beat_dead = self.is_beat_stalled(options.beat_timeout_without_proof());
        let failed = self.role.failed_successor();
        let (Some(view), Some(request)) = (&self.view, self.role.repeated_request_mut()) else {
            return;
        };
        let situation = StepInput {
            now: self.now,
            ack_timeout: options.ack_timeout,
            alone_timeout: options.alone_timeout,
            read_at: view.read_at(),
            seat: view.seat(),
            beat: view.beat(),
            is_coordinator: self.duties.is_some(),
            failed,
            is_beat_late,
            is_beat_dead,
        };
        match request.step(situation, &self.proof) {
            RequestStep::None => return,
            RequestStep::Look => {}
            RequestStep::Ask {
                coordinator,
                is_unanswered,
            } => {
                if is_unanswered {
                    self.out.push_event(Event::Unanswered { id: coordinator });
                }
                let message = if failed.is_some() {
                    OwnedMessage::SuccessorRequest
                } else {
                    OwnedMessage::Join
                };
                self.out.send(&self.list, coordinator, &message);
            }
        }
        self.look_for_proof();
    }

    /// Connects to the coordinator and to one more member, to learn whether the network works.
    fn look_for_proof(&mut self) {
        let own = self.options.id;
        let Some(view) = &self.view else {
            return;
        };
        let coordinator = view.seat().id.filter(|&id| id != own);
        // The other member is random, because a fixed member may be dead while the network works.
        let count = u32::try_from(view.len()).unwrap_or(u32::MAX);
        let first = self.draw.next_below(count) as usize;
        let mut others = view.members().skip(first).chain(view.members().take(first));
        let other = others.find(|&id| id != own && Some(id) != coordinator);
        for id in coordinator.into_iter().chain(other) {
            if self.list.address(id).is_some() {
                self.proof.request_probe(id);
            }
        }
    }

    /// Requests a look when the next step is due.
    pub(super) fn on_repeat_due(&mut self) {
        if self
            .role
            .repeated_request()
            .is_some_and(|request| request.due() <= self.now)
        {
            self.database.want_look();
        }
    }

    pub(super) fn repeat_due(&self) -> Option<Instant> {
        let due = self.role.repeated_request()?.due();
        // A step that is already due waits for the database, so it needs no timer.
        (due > self.now).then_some(due)
    }
}
