//! Requests for the token, for the work of applications here.

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::Lab2;

impl Lab2 {
    pub(super) fn on_work_wanted(&mut self) {
        // The token would only have to be handed over again.
        if self.is_shutting_down() {
            return;
        }
        self.local_work.begin();
        let tenure = self.role.tenure_mut();
        if let Some(tenure) = tenure.filter(|tenure| tenure.offer().is_none()) {
            tenure.mark_used();
            // Before the work begins, as when the token comes with an offer.
            self.acknowledge();
            // Work keeps the token here.
            self.out.stop(Timer::Handover);
        } else {
            self.request_token();
        }
    }

    /// Ends the work. The token goes on at once only if a member wants it or IDLE_HOLD is over.
    pub(super) fn on_work_done(&mut self) {
        // A program that locks again soon would otherwise wait for a whole rotation each time.
        let was_at_work = self.local_work.end();
        self.out.stop(Timer::Want);
        if was_at_work {
            self.schedule_handover();
        }
    }

    /// Requests the token again if it was lost or handed over with work left. Called at the end of each input, which
    /// may have brought another token.
    pub(super) fn resume_request(&mut self) {
        if !self.may_resume_request() {
            return;
        }
        // A frame that has had its two answers must not cause a third one.
        if self.out.may_reply() {
            self.request_token();
        } else {
            self.out.set(Timer::Want, self.context.now());
        }
    }

    /// Requests the token again at the next wake-up, which is due at once. Called where no frame is being handled.
    pub(super) fn schedule_request(&mut self) {
        // Otherwise WANT_TOKEN would count as an answer to the next frame, which may be garbage.
        if self.may_resume_request() {
            self.out.set(Timer::Want, self.context.now());
        }
    }

    fn may_resume_request(&self) -> bool {
        !self.is_shutting_down() && !self.out.is_set(Timer::Want) && self.may_request()
    }

    /// Broadcasts WANT_TOKEN, and repeats it every HEART_BEAT_PERIOD until the token is here. A giver requests it too:
    /// its handover may take longer than a rotation of the others.
    pub(super) fn request_token(&mut self) {
        if !self.may_request() {
            return;
        }
        self.broadcast(Content::WantToken);
        let (now, waiter_timeout) = (self.context.now(), self.context.waiter_timeout());
        // Broadcasts may not reach the holder, which keeps the token indefinitely if its IDLE_HOLD is infinite. So it
        // gets a unicast every WAITER_TIMEOUT.
        let is_late = self.local_work.note_request(now, waiter_timeout);
        let holder = self.known.owner();
        // A giver still counts as the holder itself.
        let holder = holder.filter(|&owner| !self.context.is_own(owner));
        if let Some(holder) = holder
            && is_late
            && self.out.may_reply()
        {
            self.local_work.note_unicast_request(now);
            self.send(holder, Content::WantToken);
        }
        self.timer_in(Timer::Want, self.context.constants().heartbeat);
    }

    /// Whether WANT_TOKEN may be sent. A paused node would not take the token, and a deaf one would not hear of it.
    fn may_request(&self) -> bool {
        self.local_work.has_work()
            && self.may_own()
            && !self.is_deaf()
            && self.context.is_up()
            && self.role.unoffered().is_none()
    }
}
