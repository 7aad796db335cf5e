//! Asking for a place or for another successor, and claiming when that is no use (`docs/board.md`, sections 5 and 6).

use super::Andrews;
use crate::andrews::Event;
use crate::andrews::message::Said;
use crate::andrews::ring::Verdict;
use crate::time::Instant;

impl Andrews {
    /// The next step of a JOIN or a SUCCESSOR_REQUEST, after a look that says that it is still needed.
    pub(super) fn step_plea(&mut self) {
        let (now, options) = (self.now, self.options);
        let (is_coordinator, failed) = (self.office.is_some(), self.role.failed());
        let is_still = self.is_beat_still(options.still_timeout());
        let is_alone = self.is_beat_still(options.lonely_timeout());
        let (Some(view), Some(plea)) = (&self.view, self.role.plea_mut()) else {
            return;
        };
        if view.read_at < plea.due {
            return;
        }
        let (seat, has_beaten) = (view.seat, plea.has_beaten(view.beat));
        plea.due = now + options.ack_timeout;
        // Nobody to ask: the node founds, claims or puts itself in at once.
        if failed.is_none() && (is_coordinator || seat.id.is_none()) {
            return;
        }
        let is_useless = plea.is_useless(seat);
        let is_nobody_asked = is_coordinator || seat.id.is_none();
        let wants_to_write = is_nobody_asked || is_useless || failed == seat.id;
        let is_alone = if is_coordinator {
            plea.since + options.alone_timeout <= now
        } else {
            is_alone
        };
        // Silence is no death: the coordinator's beat shows that it lives, wherever its datagrams go.
        let is_gone = failed == seat.id && plea.verdict == Verdict::Gone && !has_beaten;
        let may_with_proof = is_nobody_asked || is_gone || is_still;
        let has_proof = self.proof.is_there_since(plea.since);
        let may_write = is_alone || has_proof && may_with_proof;
        plea.is_ready = wants_to_write && may_write;
        plea.lacks_proof = wants_to_write && !has_proof && may_with_proof;
        if plea.is_ready {
            return;
        }
        if let Some(coordinator) = seat.id.filter(|_| !is_nobody_asked) {
            let is_unanswered = is_useless && !is_still;
            if is_unanswered && !std::mem::replace(&mut plea.is_unanswered, true) {
                self.out.event(Event::Unanswered { id: coordinator });
            }
            plea.is_unanswered = is_unanswered;
            plea.asked();
            let said = if failed.is_some() {
                Said::SuccessorRequest
            } else {
                Said::Join
            };
            self.out.send(&self.list, coordinator, &said);
        }
        self.look_for_proof();
    }

    /// Connects to the coordinator and to one other member, to see whether the network is there.
    fn look_for_proof(&mut self) {
        let own = self.options.id;
        let Some(view) = &self.view else {
            return;
        };
        let coordinator = view.seat.id;
        let count = u32::try_from(view.len()).unwrap_or(u32::MAX);
        let first = self.draw.below(count) as usize;
        let others = view.members().skip(first).chain(view.members().take(first));
        let mut others = others.filter(|&id| id != own && Some(id) != coordinator);
        let other = others.next();
        for id in [coordinator.filter(|&id| id != own), other]
            .into_iter()
            .flatten()
        {
            if self.list.address(id).is_some() {
                self.proof.want(id);
            }
        }
    }

    /// There is proof of the network: what has waited for it is decided at the next look.
    pub(super) fn on_proof(&mut self) {
        let now = self.now;
        if let Some(plea) = self.role.plea_mut()
            && plea.lacks_proof
        {
            plea.lacks_proof = false;
            plea.due = now;
        }
    }

    /// The next step waits for a look.
    pub(super) fn on_plea_due(&mut self) {
        if self.role.plea().is_some_and(|plea| plea.due <= self.now) {
            self.database.want_look();
        }
    }

    pub(super) fn plea_due(&self) -> Option<Instant> {
        let due = self.role.plea()?.due;
        // What is due already waits for the database.
        (due > self.now).then_some(due)
    }
}
