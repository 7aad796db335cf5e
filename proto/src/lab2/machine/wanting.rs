//! An application's work for the token.

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::Lab2;

impl Lab2 {
    pub(super) fn want_token(&mut self) {
        if self.is_shutting_down() {
            return;
        }
        self.wish.begin();
        let tenure = self.role.tenure_mut();
        if let Some(tenure) = tenure.filter(|tenure| tenure.offer().is_none()) {
            tenure.begin_use();
            // Before the work, as when it comes with the token.
            self.acknowledge();
            self.out.stop(Timer::Pass);
        } else {
            self.say_want();
        }
    }

    /// The token goes on at once only if somebody asks for it, or has been here for IDLE_HOLD, so that who
    /// comes back soon need not wait for it.
    pub(super) fn work_done(&mut self) {
        let was_at_work = self.wish.end();
        self.out.stop(Timer::Want);
        if was_at_work {
            self.plan_pass();
        }
    }

    /// Takes up asking for the token again if it was lost, or handed over, with work left. Called
    /// when an input was dealt with: it may have brought another token in its place. A frame that has had
    /// its answers is not answered with this too.
    pub(super) fn go_on_wanting(&mut self) {
        if !self.is_to_want() {
            return;
        }
        if self.out.may_reply() {
            self.say_want();
        } else {
            self.out.set(Timer::Want, self.context.now());
        }
    }

    /// Takes up asking for the token again with the next wake-up, which is due at once. Called where no frame is in hand: what
    /// was sent has changed the state, and the next frame, which may be garbage, must not be what WANT_TOKEN answers.
    pub(super) fn want_soon(&mut self) {
        if self.is_to_want() {
            self.out.set(Timer::Want, self.context.now());
        }
    }

    fn is_to_want(&self) -> bool {
        !self.is_shutting_down() && !self.out.is_set(Timer::Want) && self.may_say_want()
    }

    /// Broadcasts WANT_TOKEN, and again every HEART_BEAT_PERIOD until the token is here. A giver asks
    /// for it too: its hand-over may take longer than a round of the others. What goes to all may not reach the holder,
    /// which keeps the token without end then, if its IDLE_HOLD has none. It is asked alone as well every WAITER_TIMEOUT.
    pub(super) fn say_want(&mut self) {
        if !self.may_say_want() {
            return;
        }
        self.broadcast(Content::WantToken);
        let (now, patience) = (self.context.now(), self.context.waiter_timeout());
        let is_late = self.wish.has_asked_for(now, patience);
        let holder = self.known.owner();
        let holder = holder.filter(|&owner| !self.context.is_own(owner));
        if let Some(holder) = holder
            && is_late
            && self.out.may_reply()
        {
            self.wish.note_asked_alone(now);
            self.send(holder, Content::WantToken);
        }
        self.timer_in(Timer::Want, self.context.constants().heartbeat);
    }

    /// A node that is paused would not take the token, one that is deaf would not hear of it.
    fn may_say_want(&self) -> bool {
        self.wish.is_work()
            && !self.owns_nothing()
            && !self.is_deaf()
            && self.context.is_up()
            && self.role.unoffered().is_none()
    }
}
