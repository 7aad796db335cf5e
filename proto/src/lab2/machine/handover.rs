//! OWNER: the handover of the token to exactly one successor ("Passing" in `docs/protocol.md`).

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, PROGRESS_MAX, Token};

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::election::RIVAL_LEAD;
use crate::lab2::envelope::Envelope;
use crate::lab2::tenure::{Offer, OfferOutcome, Role, Tenure};
use crate::lab2::{Event, Lab2, Reason};

impl Lab2 {
    /// Whether the token could go on: there is another member, and no work here.
    pub(super) fn can_hand_over(&self) -> bool {
        // A deaf node would not hear the acknowledgement, and would mint without need.
        self.role.unoffered().is_some()
            && self.members.len() > 1
            && !self.is_deaf()
            && (!self.local_work.has_work() || self.must_hand_over())
    }

    /// Whether the token must go on, even if a program here works.
    pub(super) fn must_hand_over(&self) -> bool {
        !self.may_own() || self.is_shutting_down()
    }

    /// Offers the token to the next successor. Returns whether it was offered, or will be.
    pub(super) fn hand_over(&mut self) -> bool {
        let tenure = self.role.tenure_mut();
        if let Some(last) = tenure.and_then(Tenure::take_interrupted_round) {
            // By now the other members have waited for longer than any work here.
            return self.offer_to_next(last, true);
        }
        if !self.can_hand_over() {
            return false;
        }
        let context = &self.context;
        let unsent_offer = self.role.tenure().and_then(|it| it.unsent_offer(context));
        let unsent_offer = unsent_offer.filter(|&(to, _)| self.members.is_eligible(context, to));
        match unsent_offer {
            None => self.offer_to_next(self.me(), false),
            // An offer that could not be sent is repeated after TAKE_TIMEOUT, not earlier.
            Some((to, due)) if context.now() >= due => self.offer_to(to),
            Some((_, due)) => {
                self.out.set(Timer::Handover, due);
                true
            }
        }
    }

    /// Offers the token to `to`, or to the next successor, even if a program here works.
    pub(super) fn yield_to(&mut self, to: Option<MacAddr>) {
        if self.role.unoffered().is_none() {
            return;
        }
        match to {
            None => {
                self.offer_to_next(self.me(), false);
            }
            // An unknown address would never answer, and the token would be minted again for nothing.
            Some(to) if to == self.me() || !self.members.has(to) => {}
            Some(to) => {
                self.offer_to(to);
            }
        }
    }

    /// Offers the token to this member. Returns whether it was offered. The offer is stored before it leaves, and
    /// [`on_offer_sent`](Self::on_offer_sent) continues when the link has accepted it.
    fn offer_to(&mut self, to: MacAddr) -> bool {
        if self.wait_for_objections() {
            return false;
        }
        let Some(tenure) = self.role.tenure_mut() else {
            return false;
        };
        // From here on `Timer::Take` drives the handover.
        self.out.stop(Timer::Handover);
        let (rivals, context) = (&mut self.rivals, &self.context);
        let step = |held| rivals.take_step(context.now(), held, context.waiter_timeout());
        let Some(token) = tenure.prepare_offer(step) else {
            self.event(Event::ProgressExhausted);
            return false;
        };
        // The progress must be stored before the frame leaves, or a restart could offer it a second time.
        self.learn(token, self.me(), None);
        self.send(to, Content::TakeToken(token));
        true
    }

    /// Offers the token to the next member after `last` in ring order. Returns whether it was offered; when the round
    /// is over this node stays OWNER.
    fn offer_to_next(&mut self, last: MacAddr, minted: bool) -> bool {
        let waits = self.wait_for_objections();
        let Some(tenure) = self.role.tenure_mut() else {
            return false;
        };
        if waits {
            tenure.interrupt_round(minted.then_some(last));
            return false;
        }
        // The giver does not hear a member that it has passed over. Without this rule such a member would never get the
        // token while others want it.
        let context = &self.context;
        let giver = tenure.suspected_giver();
        let giver = giver.filter(|_| last == context.me());
        let passed_over = giver.and_then(|giver| self.members.find_passed_over(context, giver));
        tenure.set_passed_over(passed_over);
        let next = self.members.next_successor(context, last, passed_over);
        if next.is_some_and(|to| self.offer_to(to)) {
            return true;
        }
        self.out.stop(Timer::Handover);
        self.keep_token(minted);
        false
    }

    /// Keeps the token until the next round, because no member is left to offer it to.
    fn keep_token(&mut self, minted: bool) {
        if minted {
            self.send_token_is_here(MacAddr::BROADCAST);
        }
        // There is no successor, and a shutdown must end.
        if self.is_shutting_down() {
            return self.leave();
        }
        // Without a pause, a round without a taker would be a busy loop.
        let pause = if minted && self.members.has_wanting() {
            self.context.constants().take_timeout
        } else {
            self.round_pause()
        };
        if let Some(tenure) = self.role.tenure_mut() {
            // Otherwise each piece of work here would start another round at once.
            tenure.set_hold_until(self.context.now() + pause);
        }
        self.timer_in(Timer::Handover, pause);
    }

    /// Returns the pause between two rounds without a taker. A node that must own nothing does not wait for a long
    /// IDLE_HOLD.
    pub(super) fn round_pause(&self) -> Duration {
        let constants = self.context.constants();
        let rests = if self.must_hand_over() {
            constants.idle_hold.min(constants.heartbeat)
        } else {
            constants.idle_hold
        };
        rests.max(constants.take_timeout)
    }

    /// Handles the outcome of a TAKE_TOKEN.
    pub(super) fn on_offer_sent(&mut self, to: MacAddr, token: Token, accepted: bool) {
        let Some(tenure) = self.role.tenure_mut() else {
            return;
        };
        match tenure.on_offer_sent(&self.context, (to, token), accepted) {
            OfferOutcome::Begun => {
                self.learn(token, to, None);
                // The offer serves the member's request. A request from now on is a new one.
                self.members.set_wants(to, false);
                // This node may still have work: a token that the operator yields is given away with work left.
                self.resume_request();
            }
            OfferOutcome::Repeated => {}
            OfferOutcome::NotSent => {
                return self.timer_in(Timer::Handover, self.context.constants().take_timeout);
            }
            OfferOutcome::Failed(offer) => return self.on_handover_failed(offer),
            OfferOutcome::NotOffered(offer) => return self.on_offer_not_sent(offer),
        }
        let attempts = self.role.offer().map_or(0, |offer| offer.attempts());
        self.await_answer(attempts);
    }

    /// Waits for the answer to the given number of TAKE_TOKENs.
    pub(super) fn await_answer(&mut self, attempts: u32) {
        let within = self.context.constants().answer_timeout(attempts);
        self.timer_in(Timer::Take, within);
    }

    /// Repeats an offer that was not answered within TAKE_TIMEOUT, or gives the member up.
    pub(super) fn on_take_timeout(&mut self) {
        let Some(offer) = self.role.offer() else {
            return;
        };
        if offer.attempts() < self.context.constants().take_attempts {
            self.send(offer.to(), Content::TakeToken(offer.token()));
        } else {
            self.on_handover_failed(offer);
        }
    }

    fn resume_after(&self, failed: MacAddr) -> MacAddr {
        let tenure = self.role.tenure();
        tenure.map_or(failed, |it| it.resume_after(failed, self.me()))
    }

    fn on_offer_not_sent(&mut self, offer: Offer) {
        let last = self.resume_after(offer.to());
        if self.give_member_up(&offer, last, None) {
            self.offer_to_next(last, false);
        }
    }

    /// Mints a new chain after a failed handover, and goes on with it.
    pub(super) fn on_handover_failed(&mut self, offer: Offer) {
        // The member may hold the old chain or not. Two holders of one chain would both be right (section 2).
        let Some(&tenure) = self.role.tenure() else {
            return;
        };
        let last = self.resume_after(offer.to());
        let minted = self.mint(offer.token().progress + 1);
        let renewed = tenure.with_token(&self.context, minted);
        if renewed.is_unsure() {
            self.out.set(Timer::Heartbeat, self.context.now());
        }
        self.role = Role::Owner(renewed);
        // The new chain does not show that the tenures of the old one, and so promises for them, are over.
        self.confidence
            .release_promise(&self.context, offer.token());
        self.broadcast(Content::TokenWasHereRecently(offer.token(), self.me()));
        self.diagnostics.note_failed_offer(&self.members, offer);
        if self.give_member_up(&offer, last, Some(minted)) {
            self.offer_to_next(last, true);
        } else {
            // Before the work begins, as when the token comes with an offer.
            self.acknowledge();
        }
    }

    /// Notes that a member has not taken the token. Returns whether the token goes on to other members.
    fn give_member_up(&mut self, offer: &Offer, last: MacAddr, minted: Option<Token>) -> bool {
        let to = offer.to();
        let in_a_row = self.members.note_failure(to);
        if let Some(tenure) = self.role.tenure_mut()
            && let Some(since) = tenure.note_failure(offer.since())
        {
            // After a mass failure, a round must not spend a handover on each dead member.
            self.members.set_doubt(since);
        }
        self.event(Event::HandoverFailed {
            to,
            in_a_row,
            minted,
        });
        // If no member can take the token from here, keeping it would stop all others.
        if self.record_failed_offer(offer) {
            self.become_unfit();
            return false;
        }
        // By now the other members have waited for longer than any work here.
        let is_wanted = self.members.has_wanting_after(&self.context, last);
        is_wanted || !self.local_work.has_work() || self.must_hand_over() || self.is_in_doubt()
    }

    /// Notes a failed handover. Returns whether this node must let go of the token: for WAITER_TIMEOUT every member
    /// that it hears has failed to take the token, although members ask for it.
    fn record_failed_offer(&mut self, offer: &Offer) -> bool {
        let tenure = self.role.tenure_mut();
        let since = tenure.map(|tenure| tenure.record_failed_offer(offer));
        since.is_some_and(|since| {
            self.is_in_doubt() && self.members.have_all_failed(&self.context, since)
        })
    }

    fn is_in_doubt(&self) -> bool {
        let (now, waiter_timeout) = (self.context.now(), self.context.waiter_timeout());
        let tenure = self.role.tenure();
        tenure.is_some_and(|it| it.is_in_doubt(now, waiter_timeout)) && !self.is_shutting_down()
    }

    /// Outbids the owner of a stronger token, if this tenure is better backed: mints a token that is stronger still and
    /// continues the tenure with it. Returns whether it did.
    pub(super) fn try_outbid(
        &mut self,
        tenure: &Tenure,
        other: Token,
        theirs: Option<Backing>,
    ) -> bool {
        let (confidence, context) = (&mut self.confidence, &self.context);
        if !confidence.can_outbid(context, tenure, (other, theirs)) {
            return false;
        }
        let old = tenure.token();
        let minted = self.mint(other.progress.saturating_add(RIVAL_LEAD));
        // The members' promises are for this node, so they hold for the new token too.
        self.confidence.continue_tenure(&self.context, old, minted);
        // The run goes on: its program still works under a lock of this tenure.
        self.jobs.on_token_renamed(old, minted);
        self.continue_tenure(tenure, minted);
        self.on_heartbeat_due();
        true
    }

    /// Mints a token that is stronger than a token that has outgrown this one. If the other token is alive, its holder
    /// gives way.
    pub(super) fn mint_beyond(&mut self, tenure: &Tenure, other: Token) {
        // A node that knows the other token would refuse this one, which would be lost.
        let held = tenure.token();
        if !other.is_stronger_than(&held) || other.same_chain(&held) {
            return;
        }
        if !self.try_outbid(tenure, other, None) && other.progress < PROGRESS_MAX {
            let minted = self.mint(other.progress + 2);
            self.continue_tenure(tenure, minted);
            self.on_heartbeat_due();
        }
    }

    /// Completes the handover: a token at least as strong as the offered one was reported at `holder`.
    pub(super) fn on_handover_complete(&mut self, heard: Token, holder: MacAddr) {
        let Some(offer) = self.role.offer() else {
            return;
        };
        let (to, token) = (offer.to(), offer.token());
        if heard.same_chain(&token) {
            self.members.note_success(to);
            let latency = self.context.now().since(offer.since());
            self.event(Event::HandedOver { to, latency });
        }
        // The token is alive at the successor, so WAITER_TIMEOUT begins now.
        self.known.note_heard(self.context.now());
        // The new owner may have missed the WANT_TOKEN that was sent during the handover.
        self.out.stop(Timer::Want);
        self.become_waiter(Reason::TokenHandedOver, token);
        self.set_owner(Some(holder));
    }

    /// Handles WANT_TOKEN: an idle OWNER hands over at once, unless the member has just failed to take the token.
    pub(super) fn on_want_token(&mut self, envelope: Envelope) {
        // A paused member does not ask. A restarted one may never have said that it is no longer paused.
        self.members.set_paused(envelope.from, false);
        self.members.set_wants(envelope.from, true);
        if let Some(tenure) = self.role.tenure_mut() {
            // An owner lets go only if members really want the token.
            tenure.note_asked();
        }
        if self.can_hand_over() && self.is_handover_urgent() {
            self.hand_over();
        }
    }
}
