//! OWNER: holding the token and saying so.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::envelope::Envelope;
use crate::lab2::tenure::{Departure, Objections, Role, Tenure};
use crate::lab2::{Lab2, Reason, Trouble};
use crate::time::Instant;

impl Lab2 {
    /// Accepts a TAKE_TOKEN. A node that is shutting down does not: it would have to hand the
    /// token over again, perhaps to the same giver for ever. The giver stays OWNER meanwhile. Nor
    /// does one that is paused, which says so.
    pub(super) fn take(&mut self, envelope: Envelope, token: Token, data: &[u8]) {
        if self.is_shutting_down() {
            return;
        }
        if self.owns_nothing() {
            return self.send_ping(envelope.from);
        }
        let known_before = self.known.token();
        self.learn(token, self.me(), None);
        self.known.set_data(data);
        self.members.set_wants(envelope.from, false);
        let lasts = self.members.offer_lasts(&self.context, envelope.from);
        let tenure = Tenure::of_taken(token, known_before, envelope.from, envelope.at + lasts);
        self.begin_tenure(tenure, Reason::TokenTaken);
        self.fit_data();
        self.acknowledge_in_time();
        if self.heartbeat_is_due() || self.may_speak() {
            self.on_heartbeat_due();
        }
        self.plan_pass();
    }

    /// Decides when the token goes on: at once if another wants it, IDLE_HOLD after it has come if there is
    /// no work, not by itself otherwise.
    pub(super) fn plan_pass(&mut self) {
        let Some(tenure) = self.role.unoffered() else {
            return;
        };
        let rests_until = tenure.rests_until();
        let is_over = rests_until <= self.context.now();
        if is_over || self.context.constants().idle_hold.is_zero() || self.is_urged() {
            self.pass();
        } else if self.may_pass() {
            let at = self.heartbeat_about(rests_until).unwrap_or(rests_until);
            self.out.set(Timer::Pass, at);
        }
    }

    /// Has the token go on in a while, if it could and nothing has decided when.
    pub(super) fn pass_in_a_while(&mut self) {
        if self.may_pass() && !self.out.is_set(Timer::Pass) {
            self.timer_in(Timer::Pass, self.before_the_next_round());
        }
    }

    /// Whether the token has been here for IDLE_HOLD, so that it goes on to another as soon as nobody here
    /// works with it: who asks for it may not be heard.
    pub fn is_turn_over(&self, now: Instant) -> bool {
        let tenure = self.role.unoffered();
        let is_over = tenure.is_some_and(|tenure| tenure.has_rested(&self.context, now));
        is_over && self.members.len() > 1 && !self.is_deaf()
    }

    /// The token has rested. A heartbeat that is due as well would be overtaken: it is the successor's,
    /// and comes from here only if nobody takes the token, or the first offer could not be sent.
    pub(super) fn on_rested(&mut self) {
        let Some(tenure) = self.role.tenure() else {
            return;
        };
        let was_going_on = tenure.is_going_on();
        let speaks = self.out.take_due(Timer::Heartbeat, self.context.now());
        let goes_on = self.pass() && !was_going_on;
        if speaks && goes_on {
            self.timer_in(Timer::Heartbeat, self.overtaken_within());
        } else if speaks && !self.has_left() {
            self.on_heartbeat_due();
        }
    }

    /// When the next heartbeat is due, if that is about `then`. A hop and a heartbeat at one time wake
    /// the members up once.
    fn heartbeat_about(&self, then: Instant) -> Option<Instant> {
        let constants = self.context.constants();
        let at = self.out.due(Timer::Heartbeat)?;
        // One that is about to leave counts as due again until it has.
        let is_leaving = at == self.context.now() + constants.take_timeout;
        let apart = at.since(then).max(then.since(at));
        let most = constants.idle_hold.min(constants.heartbeat) / 2;
        (apart <= most && !is_leaving).then_some(at)
    }

    /// Whether the next heartbeat may as well come with the token, which rests.
    fn may_speak(&self) -> bool {
        let rests = !self.wish.is_work() && !self.is_urged();
        rests && self.heartbeat_about(self.context.now()).is_some()
    }

    /// Whether the token is to go on without waiting for IDLE_HOLD.
    pub(super) fn is_urged(&self) -> bool {
        self.gives_away() || self.is_wanted()
    }

    /// The previous holder repeats itself after TAKE_TIMEOUT. If the token goes on before that,
    /// an acknowledgement may become needless: it waits for that. If not, it is given at once; so it
    /// is where there is work for the token: a process that is stopped while its application works
    /// must not leave a giver behind that mints, and offers the token to others.
    fn acknowledge_in_time(&mut self) {
        let constants = self.context.constants();
        let take_timeout = constants.take_timeout;
        let goes_on_soon =
            !self.wish.is_work() && (self.is_urged() || constants.idle_hold <= take_timeout / 4);
        if goes_on_soon {
            // It is due within a quarter; the rest is for the wake-up.
            self.timer_in(Timer::Acknowledge, take_timeout / 5);
        } else {
            self.acknowledge();
        }
    }

    /// Tells the previous holder that its TAKE_TOKEN was accepted: with the token, or, if that
    /// has gone on already, with what is known of it.
    pub(super) fn acknowledge(&mut self) {
        self.out.stop(Timer::Acknowledge);
        let Some(owed) = self.role.take_unacknowledged() else {
            return;
        };
        match &self.role {
            // It has passed it on and asked for it again: TOKEN_IS_HERE would unsay that.
            Role::Owner(tenure) if tenure.offer().is_some() && self.wish.is_work() => {
                self.token_was_here(owed.to());
            }
            Role::Owner(_) => self.token_is_here(owed.to()),
            Role::Waiter(_) => {
                self.token_was_here(owed.to());
                let late = owed.late(self.context.now());
                if !late.is_zero() {
                    self.note_taken_late(Some(late), Some(self.known.holder()));
                }
            }
            Role::Looser(_) | Role::Generating(_) => {}
        }
    }

    pub(super) fn heartbeat_is_due(&self) -> bool {
        let period = self.members.beat_period(&self.context);
        let last = self.known.last_heartbeat();
        last.is_none_or(|at| self.context.now().since(at) >= period)
    }

    /// For how long a heartbeat waits for an offer to be taken: not for so long that a member loses its
    /// patience.
    fn overtaken_within(&self) -> Duration {
        let period = self.members.beat_period(&self.context);
        self.context.constants().take_timeout.min(period)
    }

    /// Broadcasts TOKEN_IS_HERE; [`on_heartbeat_sent`](Self::on_heartbeat_sent) goes on when it has left. One that
    /// could not be sent is tried again in TAKE_TIMEOUT.
    pub(super) fn on_heartbeat_due(&mut self) {
        let Some(tenure) = self.role.tenure() else {
            return;
        };
        let now = self.context.now();
        // Where the token goes round fast, everybody who has just passed it on waits here until
        // it is back: its heartbeat would be outdated. One that is not taken in time is not.
        let taken_by = tenure
            .offer()
            .map(|it| it.since() + self.overtaken_within());
        if let Some(at) = taken_by.filter(|&at| now < at) {
            self.out.set(Timer::Heartbeat, at);
        } else {
            self.timer_in(Timer::Heartbeat, self.context.constants().take_timeout);
            self.token_is_here(MacAddr::BROADCAST);
        }
    }

    /// A broadcast TOKEN_IS_HERE has left: everybody's patience begins anew.
    pub(super) fn on_heartbeat_sent(&mut self) {
        self.on_ack_sent(MacAddr::BROADCAST, true);
        let Some(tenure) = self.role.tenure_mut() else {
            return;
        };
        tenure.note_acknowledged();
        tenure.on_announced();
        let (context, out) = (&self.context, &mut self.out);
        let now = context.now();
        self.known.note_heartbeat(now);
        self.known.hear(now);
        out.set(Timer::Heartbeat, now + self.members.beat_period(context));
        out.set(Timer::Lease, now + self.members.shortest_patience(context));
        out.stop(Timer::Acknowledge);
        self.members.look_after(context, out);
        if self.members.roster(context) == 1 {
            // No answer is waited for.
            self.review_grade();
        }
        if self.members.len() > 1 {
            self.tell_stamps_in_time();
        }
    }

    /// A frame that tells the giver of the token was handed to the link: to it alone, or to all.
    pub(super) fn on_ack_sent(&mut self, to: MacAddr, accepted: bool) {
        let tenure = self.role.tenure_mut();
        if tenure.is_some_and(|tenure| tenure.on_ack_sent(to, accepted)) {
            self.now_unsure(None);
        }
    }

    /// All frames that were sent have left by now.
    pub(super) fn on_departed(&mut self) {
        let Some(tenure) = self.role.tenure_mut() else {
            return;
        };
        match tenure.on_departed(&self.context) {
            Departure::Nothing => {}
            Departure::Late(late) => self.now_unsure(Some(late)),
            Departure::AllTold => self.all_are_told(),
        }
        let tenure = self.role.tenure_mut();
        if let Some(attempts) = tenure.and_then(Tenure::take_departed_offer) {
            self.await_answer(attempts);
        }
    }

    /// Nobody relies on the token until everybody who knows a stronger one has had the time to say so: the
    /// members object to a heartbeat, which leaves at once, and another owner has one of its own. `late`: the
    /// giver was told so much too late; `None`: it could not be told.
    fn now_unsure(&mut self, late: Option<Duration>) {
        let offered_to = self.role.offer().map(|offer| offer.to());
        if offered_to.is_none() {
            self.out.set(Timer::Heartbeat, self.context.now());
        }
        self.note_taken_late(late, offered_to);
    }

    fn note_taken_late(&mut self, late: Option<Duration>, offered_to: Option<MacAddr>) {
        let trouble = Trouble::TakenLate { late, offered_to };
        self.diagnostics
            .note_recurring(&self.context, &mut self.out, trouble);
    }

    /// All have been told that this node holds the token, of which it is unsure.
    fn all_are_told(&mut self) {
        let Some(tenure) = self.role.tenure_mut() else {
            return;
        };
        if self.wish.is_work() {
            tenure.rest_for_work(&self.context);
        }
        if tenure.is_interrupted() {
            self.pass();
        } else {
            self.plan_pass();
        }
    }

    /// Whether the token must not go to another yet, who would be sure of it: the others, who have been told,
    /// have not had the time to answer. It goes on then.
    pub(super) fn waits_for_objections(&mut self) -> bool {
        let tenure = self.role.tenure();
        match tenure.map(|tenure| tenure.objections(&self.context)) {
            None | Some(Objections::Over) => false,
            Some(Objections::NotYet) => true,
            Some(Objections::Until(at)) => {
                self.out.set(Timer::Pass, at);
                true
            }
        }
    }

    /// Gives the token up if no heartbeat could be sent for WAITER_TIMEOUT: the others may have
    /// elected another owner by now. Called before anything else that an input does, so that a
    /// process that was stopped never acts as an owner on waking up.
    pub(super) fn expire_lease(&mut self) {
        if self.out.take_due(Timer::Lease, self.context.now()) {
            self.on_lease_expired();
        }
    }

    /// It asks when its time comes next: frames that wait in the socket may tell who owns the token.
    pub(super) fn on_lease_expired(&mut self) {
        if self.role.tenure().is_some() {
            self.enter_looser(Reason::LeaseExpired, self.token());
            self.out.set(Timer::Ask, self.context.now());
        }
    }

    /// TOKEN_IS_HERE with the token held; nothing if there is none.
    pub(super) fn token_is_here(&mut self, to: MacAddr) {
        if let Some(tenure) = self.role.tenure() {
            let token = tenure.token();
            self.send(to, Content::TokenIsHere(token));
            // Who offers the token and has asked for it again has unsaid that to everybody.
            if to == MacAddr::BROADCAST && self.out.is_set(Timer::Want) {
                self.out.set(Timer::Want, self.context.now());
            }
        }
    }

    /// TOKEN_WAS_HERE_RECENTLY with the strongest token known.
    pub(super) fn token_was_here(&mut self, to: MacAddr) {
        if let Some(token) = self.known.token() {
            let holder = self.known.holder();
            self.send(to, Content::TokenWasHereRecently(token, holder));
        }
    }
}
