//! An application's work for the token.

use std::time::Duration;

use crate::lab2::Lab2;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::{Role, Tenure};

impl Lab2 {
    pub(crate) fn want_token(&mut self) {
        if self.is_shutting_down() {
            return;
        }
        self.want = true;
        if let Role::Owner(tenure @ Tenure { offer: None, .. }) = &mut self.role {
            tenure.is_used = true;
            // Before the work, as when it comes with the token.
            self.acknowledge();
            self.out.stop(Timer::Pass);
        } else {
            self.say_want();
        }
    }

    /// The token goes on at once only if somebody asks for it, or has been here for IDLE_HOLD, so that who
    /// comes back soon need not wait for it.
    pub(crate) fn work_done(&mut self) {
        let was_at_work = std::mem::take(&mut self.want);
        self.asked = None;
        self.out.stop(Timer::Want);
        if was_at_work {
            self.plan_pass();
        }
    }

    /// Takes up asking for the token again if it was lost, or handed over, with work left. Called
    /// when an input was dealt with: it may have brought another token in its place. A frame that has had
    /// its answers is not answered with this too.
    pub(crate) fn go_on_wanting(&mut self) {
        if self.is_shutting_down() || self.out.is_set(Timer::Want) || !self.may_say_want() {
            return;
        }
        if self.out.may_reply() {
            self.say_want();
        } else {
            self.timer_in(Timer::Want, Duration::ZERO);
        }
    }

    /// Takes up asking for the token again with the next wake-up, which is due at once. Called where no frame is in hand: what was sent has changed
    /// the state, and the next frame, which may be garbage, must not be what WANT_TOKEN answers.
    pub(crate) fn want_soon(&mut self) {
        if !self.is_shutting_down() && !self.out.is_set(Timer::Want) && self.may_say_want() {
            self.timer_in(Timer::Want, Duration::ZERO);
        }
    }

    /// Broadcasts WANT_TOKEN, and again every HEART_BEAT_PERIOD until the token is here. A giver asks
    /// for it too: its hand-over may take longer than a round of the others. A node that is paused
    /// would not take it, one that is deaf would not hear of it.
    pub(crate) fn say_want(&mut self) {
        if self.may_say_want() {
            self.broadcast(Content::WantToken);
            self.ask_holder();
            self.timer_in(Timer::Want, self.context.constants().heartbeat);
        }
    }

    /// What goes to all may not reach the holder, which keeps the token without end then, if its IDLE_HOLD
    /// has none. It is asked alone as well every WAITER_TIMEOUT.
    fn ask_holder(&mut self) {
        let now = self.context.now();
        let since = *self.asked.get_or_insert(now);
        let holder = self.owner.filter(|&owner| !self.is_own(owner));
        if let Some(holder) = holder
            && now.since(since) >= self.context.waiter_timeout()
            && self.out.may_reply()
        {
            self.asked = Some(now);
            self.send(holder, Content::WantToken);
        }
    }

    fn may_say_want(&self) -> bool {
        self.want
            && !self.owns_nothing()
            && !self.is_deaf()
            && self.context.is_up()
            && self.role.unoffered().is_none()
    }
}
