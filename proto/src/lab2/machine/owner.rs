//! The rules of an OWNER: heartbeats, the lease, acknowledgements, and the time of the next handover.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::envelope::Envelope;
use crate::lab2::locks::LocksInput;
use crate::lab2::tenure::{FlushEffect, ObjectionPeriod, Role, Tenure};
use crate::lab2::{Diagnostic, Lab2, Reason};
use crate::time::Instant;

impl Lab2 {
    /// Accepts a TAKE_TOKEN, unless this node is shutting down or must not own the token.
    pub(super) fn accept_offer(&mut self, envelope: Envelope, token: Token, data: &[u8]) {
        if self.is_shutting_down() {
            // The node would have to hand the token over again, possibly to the same giver, and its shutdown would take
            // longer. Without an answer, the giver stays OWNER.
            return;
        }
        if !self.may_own() {
            // The PING announces that this node is paused, so the giver need not wait for its timeouts.
            return self.send_ping(envelope.from);
        }
        // The token made hops since this node heard of it, and may have overtaken the heartbeats of these hops. When
        // these heartbeats arrive, they need no answer.
        let known_before = self.known.token();
        self.learn(token, self.me(), None);
        self.known.set_data(data);
        // A member that hands the token over no longer waits for it.
        self.members.set_wants(envelope.from, false);
        self.handle_locks_input(LocksInput::Took {
            from: envelope.from,
            token,
            standing: envelope.standing,
        });
        let valid_for = self.members.offer_valid_for(&self.context, envelope.from);
        let tenure =
            Tenure::from_offer(token, known_before, envelope.from, envelope.at + valid_for);
        self.begin_tenure(tenure, Reason::TokenTaken);
        // This node may know a smaller MTU than the giver did.
        self.fit_data();
        self.schedule_acknowledgement();
        if self.is_heartbeat_due() || self.may_send_heartbeat_early() {
            self.on_heartbeat_due();
        }
        self.schedule_handover();
    }

    /// Schedules the next handover. If another member wants the token, the handover is due at once. If no other member
    /// wants the token, the handover is due IDLE_HOLD after the arrival of the token. While a program on this node
    /// works, schedules no handover.
    pub(super) fn schedule_handover(&mut self) {
        let Some(tenure) = self.role.unoffered_tenure() else {
            return;
        };
        let hold_until = tenure.hold_until();
        let is_over = hold_until <= self.context.now();
        if is_over || self.idle_hold().is_zero() || self.is_handover_urgent() {
            self.hand_over();
        } else if self.can_hand_over() {
            // A hop at about the time of a heartbeat moves to that time, so that the members wake up only once.
            let at = self.heartbeat_close_to(hold_until).unwrap_or(hold_until);
            self.out.set(Timer::Handover, at);
        }
    }

    /// If a handover is possible but not scheduled, schedules a handover after a pause.
    pub(super) fn schedule_idle_handover(&mut self) {
        if self.can_hand_over() && !self.out.is_set(Timer::Handover) {
            self.timer_in(Timer::Handover, self.round_pause());
        }
    }

    /// Whether IDLE_HOLD is over. When IDLE_HOLD is over, this node hands the token over as soon as no program on this
    /// node works. The node hands the token over even if no member has asked for the token, because a WANT_TOKEN may
    /// have been lost.
    pub fn is_hold_over(&self, now: Instant) -> bool {
        let tenure = self.role.unoffered_tenure();
        let is_over = tenure.is_some_and(|tenure| tenure.is_hold_over(&self.context, now));
        // An owner that is the only member, or deaf, has no successor and keeps the token.
        is_over && self.members.len() > 1 && !self.is_deaf()
    }

    /// Hands the token over. Call this function when IDLE_HOLD has ended. If a heartbeat is due at the same time, the
    /// heartbeat waits, because the successor will send a heartbeat.
    pub(super) fn on_handover_due(&mut self) {
        let Some(tenure) = self.role.tenure() else {
            return;
        };
        // A heartbeat that is sent just before the offer is outdated when it arrives. So it leaves only if no member
        // takes the token, or if the first offer could not be sent.
        let was_going_on = tenure.has_next_progress();
        let speaks = self.out.take_due(Timer::Heartbeat, self.context.now());
        let goes_on = self.hand_over() && !was_going_on;
        if speaks && goes_on {
            self.timer_in(Timer::Heartbeat, self.heartbeat_delay_max());
        } else if speaks && !self.has_left() {
            self.on_heartbeat_due();
        }
    }

    /// Returns the time of the next heartbeat if this time is close to `then`. If a hop and a heartbeat occur at the
    /// same time, the members wake up only once.
    fn heartbeat_close_to(&self, then: Instant) -> Option<Instant> {
        let constants = self.context.constants();
        let at = self.out.due(Timer::Heartbeat)?;
        // The answers to the heartbeat show whether a preferred member is present, so the heartbeat comes first.
        if self.is_preference_exceeded() {
            return None;
        }
        // While a heartbeat is being sent, its timer is already set for the next attempt.
        let is_leaving = at == self.context.now() + constants.take_timeout;
        let apart = at.since(then).max(then.since(at));
        let most = self.idle_hold().min(constants.heartbeat) / 2;
        (apart <= most && !is_leaving).then_some(at)
    }

    /// Whether the next heartbeat may leave before it is due. If the heartbeat is nearly due and the token stays on
    /// this node for a while, the heartbeat may leave early.
    fn may_send_heartbeat_early(&self) -> bool {
        let rests = !self.local_work.has_work() && !self.is_handover_urgent();
        rests && self.heartbeat_close_to(self.context.now()).is_some()
    }

    /// Whether this node should hand the token over at once, without waiting for IDLE_HOLD.
    pub(super) fn is_handover_urgent(&self) -> bool {
        self.must_hand_over() || self.is_wanted()
    }

    /// Acknowledges the token at once if the token stays on this node. If the token will soon move on, schedules the
    /// acknowledgement for a time before the giver repeats its offer.
    fn schedule_acknowledgement(&mut self) {
        // While the acknowledgement waits, the token may come back around the ring, and then the acknowledgement is not
        // needed. If a program works here, the acknowledgement leaves at once. If this process stalled before the
        // acknowledgement left, the giver would mint a new token and offer it to others.
        let constants = self.context.constants();
        let take_timeout = constants.take_timeout;
        let goes_on_soon = !self.local_work.has_work()
            && (self.is_handover_urgent() || self.idle_hold() <= take_timeout / 4);
        if goes_on_soon {
            // The acknowledgement is due after a quarter of TAKE_TIMEOUT at the latest. The difference is for a late
            // wake-up.
            self.timer_in(Timer::Acknowledge, take_timeout / 5);
        } else {
            self.acknowledge();
        }
    }

    /// Acknowledges the token to the previous holder. The frame names the held token, or the known token if the token
    /// has moved on.
    pub(super) fn acknowledge(&mut self) {
        self.out.stop(Timer::Acknowledge);
        let Some(owed) = self.role.take_unacknowledged() else {
            return;
        };
        match &self.role {
            // This node offers the token and has asked for it again. TOKEN_IS_HERE would cancel its WANT_TOKEN.
            Role::Owner(tenure) if tenure.offer().is_some() && self.local_work.has_work() => {
                self.send_token_was_here(owed.to());
            }
            Role::Owner(_) => self.send_token_is_here(owed.to()),
            Role::Waiter(_) => {
                self.send_token_was_here(owed.to());
                let late = owed.lateness(self.context.now());
                // The token has moved on, so this node cannot be unsure of it. The report tells people that
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

    /// Returns the maximum time that a heartbeat may wait for the end of a handover.
    fn heartbeat_delay_max(&self) -> Duration {
        let period = self.members.heartbeat_period(&self.context);
        // With a longer wait, the WAITER_TIMEOUT of a member could end, if it is shorter than the WAITER_TIMEOUT of
        // this node.
        self.context.constants().take_timeout.min(period)
    }

    /// Broadcasts TOKEN_IS_HERE, and repeats it every TAKE_TIMEOUT until the link accepts it. Then
    /// [`on_heartbeat_sent`](Self::on_heartbeat_sent) continues.
    pub(super) fn on_heartbeat_due(&mut self) {
        let Some(tenure) = self.role.tenure() else {
            return;
        };
        let now = self.context.now();
        // During a handover the heartbeat waits, because it would name a token that has just moved on. If the member
        // does not take the token in time, the heartbeat names the right token and leaves.
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

    /// Restarts the heartbeat period and the lease, because the frame restarts the WAITER_TIMEOUT of every member. Call
    /// this function after this node broadcasts TOKEN_IS_HERE.
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
        // If this node is the only member, no other node could receive its stamps.
        if self.members.len() > 1 {
            self.announce_stamps();
        }
    }

    /// Handles the outcome of a frame that acknowledges the token. This node sent the frame either to the giver or to
    /// all members.
    pub(super) fn on_ack_sent(&mut self, to: MacAddr, accepted: bool) {
        let tenure = self.role.tenure_mut();
        if tenure.is_some_and(|tenure| tenure.on_ack_sent(to, accepted)) {
            self.on_unsure(None);
        }
    }

    /// Handles the report that all sent frames left the host.
    pub(super) fn on_flushed(&mut self) {
        let Some(tenure) = self.role.tenure_mut() else {
            return;
        };
        match tenure.on_flushed(&self.context) {
            FlushEffect::Nothing => {}
            FlushEffect::Late(late) => self.on_unsure(Some(late)),
            FlushEffect::AnnouncementLeft => self.on_announcement_left(),
        }
        // TAKE_TIMEOUT begins again now: the member had no chance to answer before the offer left the host.
        let tenure = self.role.tenure_mut();
        if let Some(attempts) = tenure.and_then(Tenure::take_flushed_offer) {
            self.await_answer(attempts);
        }
    }

    /// Announces the held token, because this node is unsure of it. `late` is the time by which the acknowledgement was
    /// too late. `late` is `None` if the node could not send the acknowledgement.
    fn on_unsure(&mut self, late: Option<Duration>) {
        // Members object to a heartbeat of a weaker token, and another owner answers it. So the heartbeat leaves at
        // once, and no program may rely on the token until all members had time to object.
        let offered_to = self.role.offer().map(|offer| offer.to());
        // During a handover the heartbeat waits anyway, because the successor will send it.
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

    /// Continues the interrupted round. If no round was interrupted, schedules the next handover. Call this function
    /// when the announcement of an unsure token left.
    fn on_announcement_left(&mut self) {
        let hold = self.idle_hold();
        let Some(tenure) = self.role.tenure_mut() else {
            return;
        };
        if self.local_work.has_work() {
            tenure.extend_hold_for_work(&self.context, hold);
        }
        if tenure.is_round_interrupted() {
            self.hand_over();
        } else {
            self.schedule_handover();
        }
    }

    /// Returns whether a handover must wait, because members may still object to the token. If the handover must wait,
    /// schedules it for later.
    pub(super) fn wait_for_objections(&mut self) -> bool {
        // A successor would not know that the token is unsure, and would grant it at once.
        let tenure = self.role.tenure();
        match tenure.map(|tenure| tenure.objections(&self.context)) {
            None | Some(ObjectionPeriod::Over) => false,
            // The announcement has not left yet. `on_announcement_left` continues the handover, so no timer is needed.
            Some(ObjectionPeriod::NotStarted) => true,
            Some(ObjectionPeriod::Until(at)) => {
                self.out.set(Timer::Handover, at);
                true
            }
        }
    }

    /// Gives up the token if this node could send no heartbeat for WAITER_TIMEOUT. In this time the other members may
    /// have elected another owner. Every input first calls this function. So a process that was stalled does not act as
    /// an owner after the stall.
    pub(super) fn expire_lease(&mut self) {
        if self.out.take_due(Timer::Lease, self.context.now()) {
            self.on_lease_expired();
        }
    }

    /// Gives the token up at the end of the lease.
    pub(super) fn on_lease_expired(&mut self) {
        if self.role.tenure().is_some() {
            self.enter_looser(Reason::LeaseExpired, self.token());
            // The question waits for the next timeout, because frames that wait in the socket may name the owner.
            self.out.set(Timer::Ask, self.context.now());
        }
    }

    /// If this node holds a token, sends TOKEN_IS_HERE with this token.
    pub(super) fn send_token_is_here(&mut self, to: MacAddr) {
        if let Some(tenure) = self.role.tenure() {
            let token = tenure.token();
            self.send(to, Content::TokenIsHere(token));
            // All members treat TOKEN_IS_HERE as the end of this node's request, so the node repeats WANT_TOKEN.
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
