//! The place where an idle token rests (`docs/reference/lab2/passing.md P34` to P37).

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Kind};

use super::timer::Timer;
use crate::lab2::confidence::promise_duration;
use crate::lab2::envelope::Envelope;
use crate::lab2::tenure::ObjectionPeriod;
use crate::lab2::{FOREVER, Lab2};

impl Lab2 {
    /// Returns the member with which the idle token should rest instead of this node.
    pub(super) fn preferred_member(&self) -> Option<MacAddr> {
        // A member that hears this node has answered a heartbeat within this time. So a dead member gets no offer.
        let answered = promise_duration(&self.context, self.members.len());
        let heard = self.context.now().before(answered);
        self.members
            .preferred_above(&self.context, self.context.preference(), heard)
    }

    /// Returns IDLE_HOLD, as the preferences of this node and the other members change it.
    pub(super) fn idle_hold(&self) -> Duration {
        let constants = self.context.constants();
        if self.preferred_member().is_some() {
            constants.idle_hold.min(constants.heartbeat)
        } else if self.context.preference() > 0 {
            FOREVER
        } else {
            constants.idle_hold
        }
    }

    /// If IDLE_HOLD changed since the last input, begins the new IDLE_HOLD.
    pub(super) fn review_idle_hold(&mut self) {
        let Some(&tenure) = self.role.unoffered_tenure() else {
            return;
        };
        let hold = self.idle_hold();
        // A round that has begun continues. Then the timer of the handover has another purpose.
        let is_round_begun = tenure.has_next_progress()
            || tenure.is_round_interrupted()
            || !matches!(tenure.objections(&self.context), ObjectionPeriod::Over);
        if tenure.has_idle_hold(hold) || is_round_begun {
            return;
        }
        let until = self.context.now() + hold;
        if let Some(tenure) = self.role.tenure_mut() {
            tenure.restart_hold(hold, until);
        }
        if self.can_hand_over() {
            // The offer waits for a timeout, because it must not be a third reply to the current frame.
            let is_urgent = self.is_handover_urgent();
            let at = if is_urgent { self.context.now() } else { until };
            self.out.set(Timer::Handover, at);
        } else {
            // The timer of the previous IDLE_HOLD would keep the handover from being planned again.
            self.out.stop(Timer::Handover);
        }
    }

    /// Handles the preference of a frame, or its absence (`docs/reference/lab2/membership.md E9`).
    pub(super) fn note_preference(&mut self, envelope: Envelope, frame: &Frame<'_>) {
        let kind = frame.message.kind();
        let would_have = envelope.broadcast
            && frame.profile.is_some()
            && matches!(kind, Kind::Ping | Kind::WhereIsToken);
        if frame.preference > 0 || would_have {
            self.members.set_preference(envelope.from, frame.preference);
        }
    }
}
