//! OWNER: heartbeats, the lease, acknowledgements, and the time of the next handover.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::envelope::Envelope;
use crate::lab2::tenure::{FlushEffect, ObjectionPeriod, Role, Tenure};
use crate::lab2::{Diagnostic, Lab2, Reason};
use crate::time::Instant;

impl Lab2 {
    /// Accepts a TAKE_TOKEN, unless this node is shutting down or must own nothing.
    pub(super) fn accept_offer(&mut self, envelope: Envelope, token: Token, data: &[u8]) {
        if self.is_shutting_down() {
            // It would have to hand the token over again, perhaps to the same giver without end. The giver stays OWNER
            // meanwhile.
            return;
        }
        if !self.may_own() {
            return self.send_ping(envelope.from);
        }
        // Heartbeats of tokens between this one and the offered one were overtaken on their way.
        let known_before = self.known.token();
        self.learn(token, self.me(), None);
        self.known.set_data(data);
        // A member that hands the token over has had its turn.
        self.members.set_wants(envelope.from, false);
        let valid_for = self.members.offer_valid_for(&self.context, envelope.from);
        let tenure =
            Tenure::from_offer(token, known_before, envelope.from, envelope.at + valid_for);
        self.begin_tenure(tenure, Reason::TokenTaken);
        // The giver may not know a smaller MTU that this node knows.
        self.fit_data();
        self.schedule_acknowledgement();
        if self.is_heartbeat_due() || self.may_send_heartbeat_early() {
            self.on_heartbeat_due();
        }
        self.schedule_handover();
    }

    /// Schedules the next handover: at once if another member wants the token, otherwise IDLE_HOLD after the token
    /// came, and never while a program works.
    pub(super) fn schedule_handover(&mut self) {
        let Some(tenure) = self.role.unoffered() else {
            return;
        };
        let hold_until = tenure.hold_until();
        let is_over = hold_until <= self.context.now();
        if is_over || self.context.constants().idle_hold.is_zero() || self.is_handover_urgent() {
            self.hand_over();
        } else if self.can_hand_over() {
            // A hop at another time than the heartbeat would wake all members once more.
            let at = self.heartbeat_close_to(hold_until).unwrap_or(hold_until);
            self.out.set(Timer::Handover, at);
        }
    }

    /// Schedules a handover after a pause, if one is possible and none is scheduled.
    pub(super) fn schedule_idle_handover(&mut self) {
        if self.can_hand_over() && !self.out.is_set(Timer::Handover) {
            self.timer_in(Timer::Handover, self.round_pause());
        }
    }

    /// Whether IDLE_HOLD is over, so that the token goes on as soon as no program here works. WANT_TOKEN of another
    /// member may have been lost.
    pub fn is_hold_over(&self, now: Instant) -> bool {
        let tenure = self.role.unoffered();
        let is_over = tenure.is_some_and(|tenure| tenure.is_hold_over(&self.context, now));
        // A lone or deaf owner has no successor, so it keeps the token.
        is_over && self.members.len() > 1 && !self.is_deaf()
    }

    /// Hands over a token whose IDLE_HOLD is over. A heartbeat that is due as well waits: it is the successor's.
    pub(super) fn on_handover_due(&mut self) {
        let Some(tenure) = self.role.tenure() else {
            return;
        };
        // A heartbeat sent just before the token would be outdated when it arrives. It leaves from here only if no
        // member takes the token, or if the first offer could not be sent.
        let was_going_on = tenure.has_next_progress();
        let speaks = self.out.take_due(Timer::Heartbeat, self.context.now());
        let goes_on = self.hand_over() && !was_going_on;
        if speaks && goes_on {
            self.timer_in(Timer::Heartbeat, self.heartbeat_delay_max());
        } else if speaks && !self.has_left() {
            self.on_heartbeat_due();
        }
    }

    /// Returns when the next heartbeat is due, if that is close to `then`. A hop and a heartbeat at one time wake the
    /// members up only once.
    fn heartbeat_close_to(&self, then: Instant) -> Option<Instant> {
        let constants = self.context.constants();
        let at = self.out.due(Timer::Heartbeat)?;
        // A heartbeat that is being sent counts as due again until it has left.
        let is_leaving = at == self.context.now() + constants.take_timeout;
        let apart = at.since(then).max(then.since(at));
        let most = constants.idle_hold.min(constants.heartbeat) / 2;
        (apart <= most && !is_leaving).then_some(at)
    }

    /// Whether the next heartbeat may leave now, because the token has come and will stay for IDLE_HOLD.
    fn may_send_heartbeat_early(&self) -> bool {
        let rests = !self.local_work.has_work() && !self.is_handover_urgent();
        rests && self.heartbeat_close_to(self.context.now()).is_some()
    }

    /// Whether the token goes on without waiting for IDLE_HOLD.
    pub(super) fn is_handover_urgent(&self) -> bool {
        self.must_hand_over() || self.is_wanted()
    }

    /// Acknowledges the token at once, or shortly before the giver would repeat its offer.
    fn schedule_acknowledgement(&mut self) {
        // If the token goes on before that, the acknowledgement may become needless, so it waits. With work, it leaves
        // at once: if this process were stopped meanwhile, the giver would mint, and offer the token to others.
        let constants = self.context.constants();
        let take_timeout = constants.take_timeout;
        let goes_on_soon = !self.local_work.has_work()
            && (self.is_handover_urgent() || constants.idle_hold <= take_timeout / 4);
        // With a short IDLE_HOLD, or a member that wants the token, it leaves before the giver would repeat its offer.
        if goes_on_soon {
            // It is due within a quarter; the rest is for the delay of the wake-up.
            self.timer_in(Timer::Acknowledge, take_timeout / 5);
        } else {
            self.acknowledge();
        }
    }

    /// Acknowledges the token to the previous holder: with the held token, or with the known one if the token has gone
    /// on.
    pub(super) fn acknowledge(&mut self) {
        self.out.stop(Timer::Acknowledge);
        let Some(owed) = self.role.take_unacknowledged() else {
            return;
        };
        match &self.role {
            // This node offers the token and wants it again: TOKEN_IS_HERE would cancel its WANT_TOKEN.
            Role::Owner(tenure) if tenure.offer().is_some() && self.local_work.has_work() => {
                self.send_token_was_here(owed.to());
            }
            Role::Owner(_) => self.send_token_is_here(owed.to()),
            Role::Waiter(_) => {
                self.send_token_was_here(owed.to());
                let late = owed.lateness(self.context.now());
                // The token has gone on, so this node cannot be unsure of it. People should still learn that
                // TAKE_TIMEOUT is too short.
                if !late.is_zero() {
                    self.note_taken_late(Some(late), Some(self.known.holder()));
                }
            }
            Role::Looser(_) | Role::Generating(_) => {}
        }
    }

    pub(super) fn is_heartbeat_due(&self) -> bool {
        let period = self.members.heartbeat_period(&self.context);
        let last = self.known.last_heartbeat();
        last.is_none_or(|at| self.context.now().since(at) >= period)
    }

    /// Returns how long a heartbeat waits for an offer to be taken. No member's WAITER_TIMEOUT may end meanwhile.
    fn heartbeat_delay_max(&self) -> Duration {
        let period = self.members.heartbeat_period(&self.context);
        self.context.constants().take_timeout.min(period)
    }

    /// Broadcasts TOKEN_IS_HERE. [`on_heartbeat_sent`](Self::on_heartbeat_sent) continues when the link has accepted
    /// it; until then it is repeated after TAKE_TIMEOUT.
    pub(super) fn on_heartbeat_due(&mut self) {
        let Some(tenure) = self.role.tenure() else {
            return;
        };
        let now = self.context.now();
        // Where the token goes round fast, each giver waits here until the token is back: its heartbeat would be
        // outdated. If the offer is not taken in time, the heartbeat is still right.
        let taken_by = tenure
            .offer()
            .map(|it| it.since() + self.heartbeat_delay_max());
        if let Some(at) = taken_by.filter(|&at| now < at) {
            self.out.set(Timer::Heartbeat, at);
        } else {
            self.timer_in(Timer::Heartbeat, self.context.constants().take_timeout);
            self.send_token_is_here(MacAddr::BROADCAST);
        }
    }

    /// Restarts heartbeat and lease after a broadcast TOKEN_IS_HERE: all members' WAITER_TIMEOUTs begin again.
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
        self.known.note_heard(now);
        out.set(
            Timer::Heartbeat,
            now + self.members.heartbeat_period(context),
        );
        out.set(
            Timer::Lease,
            now + self.members.shortest_waiter_timeout(context),
        );
        out.stop(Timer::Acknowledge);
        self.members.on_heartbeat_sent(context, out);
        if self.members.ring_size(context) == 1 {
            // A ring of one waits for no answer.
            self.review_grade();
        }
        // A lone node would announce its stamps to no member.
        if self.members.len() > 1 {
            self.announce_stamps();
        }
    }

    /// Handles the outcome of a frame that acknowledges the token, sent to its giver or to all.
    pub(super) fn on_ack_sent(&mut self, to: MacAddr, accepted: bool) {
        let tenure = self.role.tenure_mut();
        if tenure.is_some_and(|tenure| tenure.on_ack_sent(to, accepted)) {
            self.on_unsure(None);
        }
    }

    /// Handles the report that all frames sent before have left the host.
    pub(super) fn on_flushed(&mut self) {
        let Some(tenure) = self.role.tenure_mut() else {
            return;
        };
        match tenure.on_flushed(&self.context) {
            FlushEffect::Nothing => {}
            FlushEffect::Late(late) => self.on_unsure(Some(late)),
            FlushEffect::AnnouncementLeft => self.on_announcement_left(),
        }
        let tenure = self.role.tenure_mut();
        if let Some(attempts) = tenure.and_then(Tenure::take_flushed_offer) {
            self.await_answer(attempts);
        }
    }

    /// Announces a token that this node is unsure of. `late` is the delay of the acknowledgement; `None` if it was not
    /// sent.
    fn on_unsure(&mut self, late: Option<Duration>) {
        // Members object to a heartbeat of a weaker token, and another owner has heartbeats of its own. So the
        // heartbeat leaves at once, and no program relies on the token until all had time to object.
        let offered_to = self.role.offer().map(|offer| offer.to());
        // During an offer the heartbeat waits anyway: it would be the successor's.
        if offered_to.is_none() {
            self.out.set(Timer::Heartbeat, self.context.now());
        }
        self.note_taken_late(late, offered_to);
    }

    fn note_taken_late(&mut self, late: Option<Duration>, offered_to: Option<MacAddr>) {
        let trouble = Diagnostic::TakenLate { late, offered_to };
        self.diagnostics
            .note_recurring_event(&self.context, &mut self.out, trouble);
    }

    /// Goes on with the token after all members were told that this node, which is unsure of it, holds it.
    fn on_announcement_left(&mut self) {
        let Some(tenure) = self.role.tenure_mut() else {
            return;
        };
        if self.local_work.has_work() {
            tenure.extend_hold_for_work(&self.context);
        }
        if tenure.is_round_interrupted() {
            self.hand_over();
        } else {
            self.schedule_handover();
        }
    }

    /// Whether a handover must wait, because members may still object to the token. If so, it is scheduled.
    pub(super) fn wait_for_objections(&mut self) -> bool {
        // A successor would be sure of the token.
        let tenure = self.role.tenure();
        match tenure.map(|tenure| tenure.objections(&self.context)) {
            None | Some(ObjectionPeriod::Over) => false,
            Some(ObjectionPeriod::NotStarted) => true,
            Some(ObjectionPeriod::Until(at)) => {
                self.out.set(Timer::Handover, at);
                true
            }
        }
    }

    /// Gives the token up if no heartbeat could be sent for WAITER_TIMEOUT: the others may have elected another owner.
    /// Every input calls this first, so that a process that was stopped never acts as an owner when it wakes up.
    pub(super) fn expire_lease(&mut self) {
        if self.out.take_due(Timer::Lease, self.context.now()) {
            self.on_lease_expired();
        }
    }

    /// The question waits for the next timeout, because frames that wait in the socket may name the owner.
    pub(super) fn on_lease_expired(&mut self) {
        if self.role.tenure().is_some() {
            self.enter_looser(Reason::LeaseExpired, self.token());
            self.out.set(Timer::Ask, self.context.now());
        }
    }

    /// Sends TOKEN_IS_HERE with the held token; sends nothing if there is none.
    pub(super) fn send_token_is_here(&mut self, to: MacAddr) {
        if let Some(tenure) = self.role.tenure() {
            let token = tenure.token();
            self.send(to, Content::TokenIsHere(token));
            // TOKEN_IS_HERE cancels this node's own WANT_TOKEN at all members, so it is repeated.
            if to == MacAddr::BROADCAST && self.out.is_set(Timer::Want) {
                self.out.set(Timer::Want, self.context.now());
            }
        }
    }

    /// Sends TOKEN_WAS_HERE_RECENTLY with the strongest known token.
    pub(super) fn send_token_was_here(&mut self, to: MacAddr) {
        if let Some(token) = self.known.token() {
            let holder = self.known.holder();
            self.send(to, Content::TokenWasHereRecently(token, holder));
        }
    }
}
