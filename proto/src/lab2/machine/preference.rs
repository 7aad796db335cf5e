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
        // In most rings no member has a preference.
        if !self.is_preference_exceeded() {
            return None;
        }
        // A member that hears this node has answered a heartbeat within this time. So a dead member gets no offer.
        let answered = promise_duration(&self.context, self.members.ring_size(&self.context));
        let heard = self.context.now().before(answered);
        self.members
            .preferred_above(&self.context, self.context.preference(), heard)
    }

    /// Whether a member has a higher preference than this node. The member may be dead.
    pub(super) fn is_preference_exceeded(&self) -> bool {
        self.members.has_preference_above(self.context.preference())
    }

    /// Whether the idle token stays here after `to` did not take it. Otherwise a member with a lower preference would
    /// get it, and give it back.
    pub(super) fn rests_after_failure(&self, to: MacAddr) -> bool {
        self.members.preference_of(to) > self.context.preference()
            && !self.is_wanted()
            && !self.must_hand_over()
            && !self.is_in_doubt()
    }

    /// Returns IDLE_HOLD, adapted to the preferences of this node and of the other members.
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
        if tenure.has_idle_hold(hold) {
            return;
        }
        // A round that has begun continues. During a round, the timer of the handover has a different purpose.
        let is_round_begun = self.out.outbox.has_offer()
            || tenure.unsent_offer(&self.context).is_some()
            || tenure.is_round_interrupted()
            || !matches!(tenure.objections(&self.context), ObjectionPeriod::Over);
        if is_round_begun {
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
