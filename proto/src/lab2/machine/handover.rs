//! The handover of the token from an OWNER to exactly one successor (`docs/reference/lab2/passing.md`).

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
    /// Whether this node can hand the token over: the ring has another member, and no program on this node works.
    pub(super) fn can_hand_over(&self) -> bool {
        // A deaf node would not hear the acknowledgement, and would mint a new token without need.
        self.role.unoffered_tenure().is_some()
            && self.members.len() > 1
            && !self.is_deaf()
            && (!self.local_work.has_work() && !self.keeps_token_for_locks()
                || self.must_hand_over())
    }

    /// Whether this node must hand the token over, even if a program on this node works.
    pub(super) fn must_hand_over(&self) -> bool {
        !self.may_own() || self.is_shutting_down()
    }

    /// Offers the token to the next successor. Returns whether the node offered the token, or will offer it later.
    pub(super) fn hand_over(&mut self) -> bool {
        let tenure = self.role.tenure_mut();
        if let Some(last) = tenure.and_then(Tenure::take_interrupted_round) {
            // The round was interrupted to wait for objections. The other members have waited since, so work here does
            // not stop the round.
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

    /// Offers the token to `to`, even if a program on this node works. If `to` is `None`, offers the token to the next
    /// successor.
    pub(super) fn yield_to(&mut self, to: Option<MacAddr>) {
        if self.role.unoffered_tenure().is_none() {
            return;
        }
        match to {
            None => {
                self.offer_to_next(self.me(), false);
            }
            // An unknown address would never answer, so this node would mint a new token for no reason.
            Some(to) if to == self.me() || !self.members.has(to) => {}
            Some(to) => {
                self.offer_to(to);
            }
        }
    }

    /// Offers the token to this member. Returns whether the token was offered. The offer is stored before it leaves.
    /// [`on_offer_sent`](Self::on_offer_sent) continues when the link accepts the frame.
    fn offer_to(&mut self, to: MacAddr) -> bool {
        if self.wait_for_objections() {
            return false;
        }
        let Some(tenure) = self.role.tenure_mut() else {
            return false;
        };
        // From now on, `Timer::Take` triggers the next steps of the handover.
        self.out.stop(Timer::Handover);
        let (rivals, context) = (&mut self.rivals, &self.context);
        let step = |held| rivals.take_step(context.now(), held, context.waiter_timeout());
        let Some(token) = tenure.prepare_offer(step) else {
            self.event(Event::ProgressExhausted);
            return false;
        };
        // The progress must be stored before the frame leaves. Otherwise this node could offer the same token again
        // after a restart.
        self.learn(token, self.me(), None);
        self.send(to, Content::TakeToken(token));
        true
    }

    /// Offers the token to the member that follows `last` in ring order. Returns whether the token was offered. If no
    /// member is left in the round, the round is over, and this node stays OWNER.
    fn offer_to_next(&mut self, last: MacAddr, minted: bool) -> bool {
        let waits = self.wait_for_objections();
        let Some(tenure) = self.role.tenure_mut() else {
            return false;
        };
        if waits {
            tenure.interrupt_round(minted.then_some(last));
            return false;
        }
        // A giver passes over a member that it does not hear. Without this rule, that member would never get the token
        // while others want it.
        let context = &self.context;
        let giver = tenure.suspected_giver();
        // A member gets an offer before its turn only at the start of a round. A round starts after this node in ring
        // order.
        let giver = giver.filter(|_| last == context.me());
        let passed_over = giver.and_then(|giver| self.members.find_passed_over(context, giver));
        tenure.set_passed_over(passed_over);
        let preferred = Some(self.preferred_member()).filter(|_| last == self.me());
        let first = (passed_over, preferred.flatten());
        let next = self.members.next_successor(&self.context, last, first);
        if next.is_some_and(|to| self.offer_to(to)) {
            return true;
        }
        self.out.stop(Timer::Handover);
        self.keep_token(minted);
        false
    }

    /// Keeps the token until the next round. Call this function when the round has no member left.
    fn keep_token(&mut self, minted: bool) {
        if minted {
            // The members have heard of the failed offers, but not of the minted token. So the node does not wait for
            // the next heartbeat.
            self.send_token_is_here(MacAddr::BROADCAST);
        }
        // No member takes the token, and a shutdown must end.
        if self.is_shutting_down() {
            return self.leave();
        }
        // Without a pause, a round in which no member takes the token would be a busy loop.
        let pause = if minted && self.members.has_wanting() {
            self.context.constants().take_timeout
        } else {
            self.round_pause()
        };
        let hold = self.idle_hold();
        if let Some(tenure) = self.role.tenure_mut() {
            // Without a new hold, another round would start at once each time that work on this node ends.
            tenure.restart_hold(hold, self.context.now() + pause);
        }
        self.timer_in(Timer::Handover, pause);
    }

    /// Returns the pause between a round in which no member took the token and the next round.
    pub(super) fn round_pause(&self) -> Duration {
        let constants = self.context.constants();
        // IDLE_HOLD may be endless, and a node that must not own the token would keep it from all others.
        let rests = if self.must_hand_over() {
            constants.idle_hold.min(constants.heartbeat)
        } else {
            self.idle_hold()
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
                // The offer serves the member's request. A WANT_TOKEN from now on is a new request.
                self.members.set_wants(to, false);
                // This node may still have work, because an operator can yield the token while a program here works.
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

    /// Starts to wait for the answer. Call this function after this node sends the last of `attempts` TAKE_TOKENs.
    pub(super) fn await_answer(&mut self, attempts: u32) {
        let within = self.context.constants().answer_timeout(attempts);
        self.timer_in(Timer::Take, within);
    }

    /// Repeats an offer that was not answered in time. After the last attempt, the handover counts as failed.
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
        // No TAKE_TOKEN has left, so no other node can hold this chain, and the token need not be minted again.
        if !self.give_member_up(&offer, last, None) {
            return;
        }
        if self.rests_after_failure(offer.to()) {
            self.keep_token(false);
        } else {
            self.offer_to_next(last, false);
        }
    }

    /// Mints a new chain after a failed handover, and continues the tenure with that token.
    pub(super) fn on_handover_failed(&mut self, offer: Offer) {
        // The member may have taken the token, so this node must give up the old chain. Two holders of one chain would
        // have equal rights (`docs/reference/lab2/states.md T4`).
        let Some(&tenure) = self.role.tenure() else {
            return;
        };
        let last = self.resume_after(offer.to());
        let minted = self.mint(offer.token().progress + 1);
        let renewed = tenure.with_token(&self.context, minted);
        self.rename_duty(tenure.token(), minted, offer.to());
        // If this node was unsure of the old token, members may object to the minted token too. They object only to a
        // heartbeat.
        if renewed.is_unsure() {
            self.out.set(Timer::Heartbeat, self.context.now());
        }
        self.role = Role::Owner(renewed);
        // The failed offer ends all tenures of the old chain, and the promises for them. The new chain does not show
        // this, so a broadcast names the failed offer.
        self.confidence
            .release_promise(&self.context, offer.token());
        self.broadcast(Content::TokenWasHereRecently(offer.token(), self.me()));
        self.diagnostics.note_failed_offer(&self.members, offer);
        if self.give_member_up(&offer, last, Some(minted)) {
            if self.rests_after_failure(offer.to()) {
                self.keep_token(true);
            } else {
                self.offer_to_next(last, true);
            }
        } else {
            // If the previous holder still waits, it must hear from this node before work begins here.
            self.acknowledge();
        }
    }

    /// Lets the locks continue under the token `minted`. The member that was offered the old token may have taken it
    /// and granted locks. In this case, the holders of these locks claim them.
    fn rename_duty(&mut self, old: Token, minted: Token, to: MacAddr) {
        let now = self.context.now();
        self.locks.on_token_renamed(old, minted, now);
        let longest = self.members.longest_waiter_timeout(&self.context);
        let earliest = now.before(longest);
        let peer = self.members.peer(to);
        if peer.is_some_and(|peer| peer.was_heard_since(earliest)) {
            self.locks.wait_for_claims(now + longest);
        }
    }

    /// Notes that a member did not take the token. Returns whether this node must offer the token to other members.
    fn give_member_up(&mut self, offer: &Offer, last: MacAddr, minted: Option<Token>) -> bool {
        self.members
            .note_preference_failure(&self.context, offer.to());
        let to = offer.to();
        let in_a_row = self.members.note_failure(to);
        if let Some(tenure) = self.role.tenure_mut()
            && let Some(since) = tenure.note_failure(offer.since())
        {
            // After many members have died at once, a round must not spend one handover on each of them.
            self.members.set_doubt(since);
        }
        self.event(Event::HandoverFailed {
            to,
            in_a_row,
            minted,
        });
        // If no member can take the token from this node, the other members must elect an owner. They elect an owner
        // only after this node has given the token up.
        if self.record_failed_offer(offer) {
            self.become_unfit();
            return false;
        }
        // A member that wants the token has waited through the failed handover, so it has priority over work on this
        // node.
        let is_wanted = self.members.next_wanting(&self.context, last).is_some();
        is_wanted || !self.local_work.has_work() || self.must_hand_over() || self.is_in_doubt()
    }

    /// Notes a failed handover. Returns whether this node must give the token up (`docs/reference/lab2/faults.md Y3`):
    /// no member takes the token, although some members ask for it.
    fn record_failed_offer(&mut self, offer: &Offer) -> bool {
        let tenure = self.role.tenure_mut();
        let since = tenure.map(|tenure| tenure.record_failed_offer(offer));
        since.is_some_and(|since| {
            // A few lost frames are no reason to give the token up. So failures do not count if they last for a short
            // time, or if a possible successor has not failed.
            self.is_in_doubt() && self.members.have_all_failed(&self.context, since)
        })
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        // A node that shuts down gives the token up anyway, after at most one round.
        let (now, waiter_timeout) = (self.context.now(), self.context.waiter_timeout());
        let tenure = self.role.tenure();
        tenure.is_some_and(|it| it.is_in_doubt(now, waiter_timeout)) && !self.is_shutting_down()
    }

    /// Outbids the owner of a stronger token, if this node's tenure has the better backing. Mints an even stronger
    /// token, and continues the tenure with it. Returns whether this node outbid the other owner.
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
        // The other token may make some hops before its holder hears of the minted token. The lead is larger than the
        // number of those hops.
        let minted = self.mint(other.progress.saturating_add(RIVAL_LEAD));
        // The members have made their promises to this node, so the promises hold for the new token too.
        self.confidence.continue_tenure(&self.context, old, minted);
        // A run of `once` continues, because its program still works under a lock of this tenure.
        self.jobs.on_token_renamed(old, minted);
        self.continue_tenure(tenure, minted);
        self.on_heartbeat_due();
        true
    }

    /// Mints a token that is stronger than `other`. The token `other` is stronger than the held token. If the holder of
    /// `other` is alive, it gives way to the minted token.
    pub(super) fn mint_beyond(&mut self, tenure: &Tenure, other: Token) {
        // A member that knows the other token would refuse an offer of this node's token, and this token would be lost.
        let held = tenure.token();
        if !other.is_stronger_than(&held) || other.same_chain(&held) {
            return;
        }
        // If `other` has the maximum progress, a minted token cannot have more progress, so members may refuse it too.
        if !self.try_outbid(tenure, other, None) && other.progress < PROGRESS_MAX {
            let minted = self.mint(other.progress + 2);
            self.continue_tenure(tenure, minted);
            self.on_heartbeat_due();
        }
    }

    /// Completes the handover: a frame showed that `holder` has a token at least as strong as the offered token.
    pub(super) fn on_handover_complete(&mut self, heard: Token, holder: MacAddr) {
        let Some(offer) = self.role.offer() else {
            return;
        };
        let (to, token) = (offer.to(), offer.token());
        // A token of another chain also ends the handover, but does not show that the member has taken the offered
        // token.
        if heard.same_chain(&token) {
            self.members.note_success(to);
            let latency = self.context.now().since(offer.since());
            self.event(Event::HandedOver { to, latency });
        }
        // The successor holds the token, so WAITER_TIMEOUT begins now.
        self.known.note_heard(self.context.now());
        // The new owner may have missed the WANT_TOKEN that was sent during the handover.
        self.out.stop(Timer::Want);
        self.become_waiter(Reason::TokenHandedOver, token);
        self.set_owner(Some(holder));
    }

    /// Handles WANT_TOKEN. An OWNER without work hands the token over at once, unless the asking member just failed to
    /// take the token.
    pub(super) fn on_want_token(&mut self, envelope: Envelope) {
        // A paused member sends no WANT_TOKEN, so this member is not paused. If it was restarted, it may not have
        // announced the end of the pause.
        self.members.set_paused(envelope.from, false);
        self.set_announced_pause(envelope.from, None);
        self.members.set_wants(envelope.from, true);
        if let Some(tenure) = self.role.tenure_mut() {
            // An owner gives the token up only if a member has asked for it.
            tenure.note_asked();
        }
        if self.can_hand_over() && self.is_handover_urgent() {
            self.hand_over();
        }
    }
}
