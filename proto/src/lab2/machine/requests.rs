//! Requests for the token. If an application on this node needs the token for work, this node sends a request.

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::Lab2;

impl Lab2 {
    pub(super) fn on_work_wanted(&mut self) {
        // A node that shuts down would have to hand the token over again at once.
        if self.is_shutting_down() {
            return;
        }
        self.local_work.begin();
        let tenure = self.role.tenure_mut();
        if let Some(tenure) = tenure.filter(|tenure| tenure.offer().is_none()) {
            tenure.mark_used();
            // If the previous holder still waits, it must hear from this node before work begins here.
            self.acknowledge();
            // The token stays here until the work is done.
            self.out.stop(Timer::Handover);
        } else {
            self.request_token();
        }
    }

    /// Ends the work. The token then moves on at once only if another member wants it, or if IDLE_HOLD is over.
    pub(super) fn on_work_done(&mut self) {
        // If the token always moved on after work, a program that soon locks again would wait for a whole rotation each
        // time.
        let was_at_work = self.local_work.end();
        self.out.stop(Timer::Want);
        if was_at_work {
            self.schedule_handover();
        }
    }

    /// Requests the token again if an application still has work, but the token was lost or handed over. The function
    /// is called at the end of each input, because the input may have replaced the token.
    pub(super) fn resume_request(&mut self) {
        if !self.may_resume_request() {
            return;
        }
        // If the current frame has had its two answers, WANT_TOKEN waits for the next timeout.
        if self.out.may_reply() {
            self.request_token();
        } else {
            self.out.set(Timer::Want, self.context.now());
        }
    }

    /// Schedules a new request for the token. The request leaves at a timeout that is due at once. Call this function
    /// after this node sends a frame.
    pub(super) fn schedule_request(&mut self) {
        // If WANT_TOKEN were queued now, it might leave after the next received frame. It would look like an answer,
        // even to an invalid frame.
        if self.may_resume_request() {
            self.out.set(Timer::Want, self.context.now());
        }
    }

    fn may_resume_request(&self) -> bool {
        !self.is_shutting_down() && !self.out.is_set(Timer::Want) && self.may_request()
    }

    /// Broadcasts WANT_TOKEN, and repeats this frame every HEART_BEAT_PERIOD until this node has the token. Even a node
    /// that is handing the token over requests the token, because the handover may take longer than a rotation among
    /// the other members.
    pub(super) fn request_token(&mut self) {
        if !self.may_request() {
            return;
        }
        self.broadcast(Content::WantToken);
        let (now, waiter_timeout) = (self.context.now(), self.context.waiter_timeout());
        // Broadcasts may not reach the holder. If its IDLE_HOLD is endless, it would keep the token indefinitely. So
        // the node also asks by unicast, every WAITER_TIMEOUT.
        let is_late = self.local_work.note_request(now, waiter_timeout);
        let holder = self.known.owner();
        // During a handover, this node still counts as the holder, and it must not send a frame to itself.
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

    /// Whether this node may send WANT_TOKEN. A paused node would not take the token. A deaf node would not hear the
    /// offer of the token.
    fn may_request(&self) -> bool {
        self.local_work.has_work()
            && self.may_own()
            && !self.is_deaf()
            && self.context.is_up()
            && self.role.unoffered_tenure().is_none()
    }
}
