//! OWNER: holding the token and saying so.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::{Role, Tenure};
use crate::lab2::{Lab2, Reason};
use crate::time::Instant;

impl Lab2 {
    /// Accepts a TAKE_TOKEN. A node that is shutting down does not: it would have to hand the
    /// token over again, perhaps to the same giver for ever. The giver stays OWNER meanwhile. Nor
    /// does one that is paused, which says so.
    pub(crate) fn take(&mut self, envelope: Envelope, token: Token, data: &[u8]) {
        if self.is_shutting_down() {
            return;
        }
        if self.owns_nothing() {
            return self.send_ping(envelope.from);
        }
        let known_before = self.known.token();
        self.learn(token, self.me(), None);
        self.known.set_data(data);
        self.table.set_wants(envelope.from, false);
        let answered_by = envelope.at + self.offer_lasts(envelope.from);
        let tenure = Tenure::of_taken(token, known_before, envelope.from, answered_by);
        self.begin_tenure(tenure, Reason::TokenTaken);
        self.fit_data();
        self.acknowledge_in_time();
        if self.broadcast_is_due() || self.may_speak() {
            self.on_heartbeat_due();
        }
        self.plan_pass();
    }

    /// Enters OWNER.
    pub(crate) fn begin_tenure(&mut self, tenure: Tenure, reason: Reason) {
        let now = self.context.now();
        // The others' patience began with the last heartbeat that all could hear.
        let trusted_since = match self.last_broadcast {
            Some(at) if !self.broadcast_is_due() => at,
            _ => now,
        };
        let (beat_period, patience) = (self.beat_period(), self.shortest_patience());
        self.known.hear(now);
        self.asked = None;
        let tenure = Tenure {
            rests_until: now + self.context.constants().idle_hold,
            is_used: tenure.is_used || self.want,
            ..tenure
        };
        self.change(Role::Owner(tenure), reason, Some(tenure.token));
        self.out.set(Timer::Heartbeat, trusted_since + beat_period);
        self.out.set(Timer::Lease, trusted_since + patience);
        self.set_owner(self.context.mac());
        self.look_after_removed();
    }

    /// Decides when the token goes on: at once if another wants it, IDLE_HOLD after it has come if there is
    /// no work, not by itself otherwise.
    pub(crate) fn plan_pass(&mut self) {
        let Some(&Tenure { rests_until, .. }) = self.role.unoffered() else {
            return;
        };
        let is_over = rests_until <= self.context.now();
        if is_over || self.context.constants().idle_hold.is_zero() || self.is_urged() {
            self.pass();
        } else if self.may_pass() {
            let at = self.heartbeat_about(rests_until).unwrap_or(rests_until);
            self.out.set(Timer::Pass, at);
        }
    }

    /// Whether the token has been here for IDLE_HOLD, so that it goes on to another as soon as nobody here
    /// works with it: who asks for it may not be heard.
    #[must_use]
    pub fn is_turn_over(&self, now: Instant) -> bool {
        let Some(tenure) = self.role.unoffered() else {
            return false;
        };
        let unsent = tenure
            .unsent
            .map(|it| it.at + self.context.constants().take_timeout);
        let is_over = now >= unsent.unwrap_or(tenure.rests_until);
        is_over && self.table.len() > 1 && !self.is_deaf()
    }

    /// The token has rested. A heartbeat that is due as well would be overtaken: it is the successor's,
    /// and comes from here only if nobody takes the token, or the first offer could not be sent.
    pub(crate) fn on_rested(&mut self) {
        let Role::Owner(Tenure { next_progress, .. }) = self.role else {
            return;
        };
        let speaks = self.out.take_due(Timer::Heartbeat, self.context.now());
        let goes_on = self.pass() && next_progress.is_none();
        if speaks && goes_on {
            self.timer_in(Timer::Heartbeat, self.overtaken_within());
        } else if speaks && !self.has_left() {
            self.on_heartbeat_due();
        }
    }

    /// When the next heartbeat is due, if that is about `then`. A hop and a heartbeat at one time wake
    /// the members up once.
    fn heartbeat_about(&self, then: Instant) -> Option<Instant> {
        let at = self.out.due(Timer::Heartbeat)?;
        // One that is about to leave counts as due again until it has.
        let is_leaving = at == self.context.now() + self.context.constants().take_timeout;
        let apart = at.since(then).max(then.since(at));
        let most = self
            .context
            .constants()
            .idle_hold
            .min(self.context.constants().heartbeat)
            / 2;
        (apart <= most && !is_leaving).then_some(at)
    }

    /// Whether the next heartbeat may as well come with the token, which rests.
    fn may_speak(&mut self) -> bool {
        let rests = !self.want && !self.is_urged();
        rests && self.heartbeat_about(self.context.now()).is_some()
    }

    /// Whether the token is to go on without waiting for IDLE_HOLD.
    pub(crate) fn is_urged(&self) -> bool {
        self.gives_away() || self.is_wanted()
    }

    /// The previous holder repeats itself after TAKE_TIMEOUT. If the token goes on before that,
    /// an acknowledgement may become needless: it waits for that. If not, it is given at once; so it
    /// is where there is work for the token: a process that is stopped while its application works
    /// must not leave a giver behind that mints, and offers the token to others.
    fn acknowledge_in_time(&mut self) {
        let goes_on_soon = !self.want
            && (self.is_urged()
                || self.context.constants().idle_hold <= self.context.constants().take_timeout / 4);
        if goes_on_soon {
            // It is due within a quarter; the rest is for the wake-up.
            self.timer_in(
                Timer::Acknowledge,
                self.context.constants().take_timeout / 5,
            );
        } else {
            self.acknowledge();
        }
    }

    /// Tells the previous holder that its TAKE_TOKEN was accepted: with the token, or, if that
    /// has gone on already, with what is known of it.
    pub(crate) fn acknowledge(&mut self) {
        self.out.stop(Timer::Acknowledge);
        let Some(owed) = self.role.take_unacknowledged() else {
            return;
        };
        let previous = owed.to;
        match self.role {
            // It has passed it on and asked for it again: TOKEN_IS_HERE would unsay that.
            Role::Owner(Tenure { offer: Some(_), .. }) if self.want => {
                self.token_was_here(previous);
            }
            Role::Owner(_) => self.token_is_here(previous),
            Role::Waiter(_) => {
                self.token_was_here(previous);
                self.note_late(owed);
            }
            Role::Looser(_) | Role::Generating(_) => {}
        }
    }

    fn broadcast_is_due(&self) -> bool {
        let period = self.beat_period();
        self.last_broadcast
            .is_none_or(|at| self.context.now().since(at) >= period)
    }

    /// For how long a heartbeat waits for an offer to be taken: not for so long that a member loses its
    /// patience.
    fn overtaken_within(&self) -> Duration {
        self.context
            .constants()
            .take_timeout
            .min(self.beat_period())
    }

    /// Broadcasts TOKEN_IS_HERE; [`said_so`](Self::said_so) goes on when it has left. One that
    /// could not be sent is tried again in TAKE_TIMEOUT.
    pub(crate) fn on_heartbeat_due(&mut self) {
        let Role::Owner(tenure) = self.role else {
            return;
        };
        let take_timeout = self.context.constants().take_timeout;
        // Where the token goes round fast, everybody who has just passed it on waits here until
        // it is back: its heartbeat would be outdated. One that is not taken in time is not.
        let taken_by = tenure
            .offer
            .map(|offer| offer.since + self.overtaken_within());
        if let Some(at) = taken_by.filter(|&at| self.context.now() < at) {
            self.out.set(Timer::Heartbeat, at);
        } else {
            self.timer_in(Timer::Heartbeat, take_timeout);
            self.token_is_here(MacAddr::BROADCAST);
        }
    }

    /// A broadcast TOKEN_IS_HERE has left: everybody's patience begins anew.
    pub(crate) fn said_so(&mut self) {
        self.answered(MacAddr::BROADCAST, true);
        if let Role::Owner(tenure) = &mut self.role {
            tenure.unacknowledged = None;
            self.last_broadcast = Some(self.context.now());
            self.known.hear(self.context.now());
            self.timer_in(Timer::Heartbeat, self.beat_period());
            self.timer_in(Timer::Lease, self.shortest_patience());
            self.out.stop(Timer::Acknowledge);
            self.tells_all();
            self.look_after_members();
            if self.roster() == 1 {
                // No answer is waited for.
                self.review_grade();
            }
            if self.table.len() > 1 {
                self.tell_stamps_in_time();
            }
        }
    }

    /// Gives the token up if no heartbeat could be sent for WAITER_TIMEOUT: the others may have
    /// elected another owner by now. Called before anything else that an input does, so that a
    /// process that was stopped never acts as an owner on waking up.
    pub(crate) fn expire_lease(&mut self) {
        if self.out.take_due(Timer::Lease, self.context.now()) {
            self.on_lease_expired();
        }
    }

    /// It asks when its time comes next: frames that wait in the socket may tell who owns the token.
    pub(crate) fn on_lease_expired(&mut self) {
        if matches!(self.role, Role::Owner(_)) {
            self.enter_looser(Reason::LeaseExpired, self.token());
            self.timer_in(Timer::Ask, Duration::ZERO);
        }
    }
}
