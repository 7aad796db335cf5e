//! OWNER: passing the token on, once and for all, to one successor.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, MAX_PROGRESS, Token};

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::election::LEAD;
use crate::lab2::envelope::Envelope;
use crate::lab2::tenure::{Offer, OfferSent, Role, Tenure};
use crate::lab2::{Event, Lab2, Reason};

impl Lab2 {
    /// Whether the token could go on: there is another member, and no work here.
    pub(super) fn may_pass(&self) -> bool {
        self.role.unoffered().is_some()
            && self.members.len() > 1
            && !self.is_deaf()
            && (!self.wish.is_work() || self.gives_away())
    }

    /// Whether the token is to go whatever work there is here.
    pub(super) fn gives_away(&self) -> bool {
        self.owns_nothing() || self.is_shutting_down()
    }

    /// Offers the token to the member whose turn it is; whether there is one. An offer that could not be
    /// sent has its time before it is repeated, whatever comes meanwhile.
    pub(super) fn pass(&mut self) -> bool {
        let tenure = self.role.tenure_mut();
        if let Some(last) = tenure.and_then(Tenure::take_interrupted) {
            // The others have waited for longer than any work that there is here by now.
            return self.offer_after(last, true);
        }
        if !self.may_pass() {
            return false;
        }
        let context = &self.context;
        let unsent = self.role.tenure().and_then(|it| it.unsent(context));
        let unsent = unsent.filter(|&(to, _)| self.members.is_eligible(context, to));
        match unsent {
            None => self.offer_after(self.me(), false),
            Some((to, due)) if context.now() >= due => self.offer_to(to),
            Some((_, due)) => {
                self.out.set(Timer::Pass, due);
                true
            }
        }
    }

    /// Offers the token whatever work there is here, to `to` or the member whose turn it is.
    pub(super) fn yield_to(&mut self, to: Option<MacAddr>) {
        if self.role.unoffered().is_none() {
            return;
        }
        match to {
            None => {
                self.offer_after(self.me(), false);
            }
            Some(to) if to == self.me() || !self.members.has(to) => {}
            Some(to) => {
                self.offer_to(to);
            }
        }
    }

    /// Offers the token to this member; whether there is anything left to offer, and it may be offered. The offer is
    /// known, and stored, before it leaves; [`on_offer_sent`](Self::on_offer_sent) goes on.
    fn offer_to(&mut self, to: MacAddr) -> bool {
        if self.waits_for_objections() {
            return false;
        }
        let Some(tenure) = self.role.tenure_mut() else {
            return false;
        };
        self.out.stop(Timer::Pass);
        let (rivals, context) = (&mut self.rivals, &self.context);
        let step = |held| rivals.take_step(context.now(), held, context.waiter_timeout());
        let Some(token) = tenure.offered_token(step) else {
            self.event(Event::ProgressExhausted);
            return false;
        };
        self.learn(token, self.me(), None);
        self.send(to, Content::TakeToken(token));
        true
    }

    /// Offers the token to the next member in ring order after `last`; when the round is over
    /// this node stays OWNER. Whether it is offered.
    fn offer_after(&mut self, last: MacAddr, minted: bool) -> bool {
        let waits = self.waits_for_objections();
        let Some(tenure) = self.role.tenure_mut() else {
            return false;
        };
        if waits {
            tenure.interrupt(minted.then_some(last));
            return false;
        }
        // A member that the giver has passed over, which it does not hear, comes before all others.
        let context = &self.context;
        let giver = tenure.suspected_giver();
        let giver = giver.filter(|_| last == context.me());
        let ahead = giver.and_then(|giver| self.members.passed_over(context, giver));
        tenure.set_ahead(ahead);
        let next = self.members.next_after(context, last, ahead);
        if next.is_some_and(|to| self.offer_to(to)) {
            return true;
        }
        self.out.stop(Timer::Pass);
        self.stay(minted);
        false
    }

    /// Nobody is left to offer the token to.
    fn stay(&mut self, minted: bool) {
        if minted {
            self.token_is_here(MacAddr::BROADCAST);
        }
        if self.is_shutting_down() {
            return self.leave();
        }
        // A turn of nobody must not become a busy loop.
        let pause = if minted && self.members.has_wanting() {
            self.context.constants().take_timeout
        } else {
            self.before_the_next_round()
        };
        if let Some(tenure) = self.role.tenure_mut() {
            tenure.rest_until(self.context.now() + pause);
        }
        self.timer_in(Timer::Pass, pause);
    }

    /// How long nobody is offered the token that nobody has taken: a turn of nobody must not become a
    /// busy loop. A node that is to own nothing does not wait for a long IDLE_HOLD.
    pub(super) fn before_the_next_round(&self) -> Duration {
        let constants = self.context.constants();
        let rests = if self.gives_away() {
            constants.idle_hold.min(constants.heartbeat)
        } else {
            constants.idle_hold
        };
        rests.max(constants.take_timeout)
    }

    /// A TAKE_TOKEN was sent, or could not be.
    pub(super) fn on_offer_sent(&mut self, to: MacAddr, token: Token, accepted: bool) {
        let Some(tenure) = self.role.tenure_mut() else {
            return;
        };
        match tenure.on_offer_sent(&self.context, (to, token), accepted) {
            OfferSent::Begun => {
                self.learn(token, to, None);
                // It has had its turn once it takes this; what it asks for from now on is the next.
                self.members.set_wants(to, false);
                // A token that is yielded is given away with work left.
                self.go_on_wanting();
            }
            OfferSent::Repeated => {}
            OfferSent::Refused => {
                return self.timer_in(Timer::Pass, self.context.constants().take_timeout);
            }
            OfferSent::Failed(offer) => return self.hand_over_failed(offer),
            OfferSent::NotOffered(offer) => return self.not_offered(offer),
        }
        let attempts = self.role.offer().map_or(0, |offer| offer.attempts());
        self.await_answer(attempts);
    }

    /// Waits for the answer to so many TAKE_TOKEN.
    pub(super) fn await_answer(&mut self, attempts: u32) {
        let within = self.context.constants().answered_within(attempts);
        self.timer_in(Timer::Take, within);
    }

    /// TAKE_TIMEOUT has passed without an acknowledgement.
    pub(super) fn on_take_timeout(&mut self) {
        let Some(offer) = self.role.offer() else {
            return;
        };
        if offer.attempts() < self.context.constants().take_attempts {
            self.send(offer.to(), Content::TakeToken(offer.token()));
        } else {
            self.hand_over_failed(offer);
        }
    }

    fn goes_on_after(&self, failed: MacAddr) -> MacAddr {
        let tenure = self.role.tenure();
        tenure.map_or(failed, |it| it.goes_on_after(failed, self.me()))
    }

    fn not_offered(&mut self, offer: Offer) {
        let last = self.goes_on_after(offer.to());
        if self.give_up(&offer, last, None) {
            self.offer_after(last, false);
        }
    }

    /// The member may have the chain or not: this node goes on with one of its own (section 2).
    pub(super) fn hand_over_failed(&mut self, offer: Offer) {
        let Some(&tenure) = self.role.tenure() else {
            return;
        };
        let last = self.goes_on_after(offer.to());
        let minted = self.mint(offer.token().progress + 1);
        let renewed = tenure.renewed(&self.context, minted);
        if renewed.is_unsure() {
            self.out.set(Timer::Heartbeat, self.context.now());
        }
        self.role = Role::Owner(renewed);
        // Nobody can tell from the new chain that the tenures of the old one are over.
        self.confidence.release(&self.context, offer.token());
        self.broadcast(Content::TokenWasHereRecently(offer.token(), self.me()));
        self.diagnostics.note_given_up(&self.members, offer);
        if self.give_up(&offer, last, Some(minted)) {
            self.offer_after(last, true);
        } else {
            // Before the work, as when it comes with the token.
            self.acknowledge();
        }
    }

    /// A member has not taken the token. Whether the token goes on to others: unless this node lets go of
    /// it, or has work for it which nobody waits for.
    fn give_up(&mut self, offer: &Offer, last: MacAddr, minted: Option<Token>) -> bool {
        let to = offer.to();
        let in_a_row = self.members.fail(to);
        if let Some(tenure) = self.role.tenure_mut()
            && let Some(since) = tenure.note_failure(offer.since())
        {
            self.members.doubt(since);
        }
        self.event(Event::HandOverFailed {
            to,
            in_a_row,
            minted,
        });
        if self.is_let_down(offer) {
            self.let_go();
            return false;
        }
        // The others have waited for longer than any work that there is here by now.
        let is_wanted = self.members.is_wanted_after(&self.context, last);
        is_wanted || !self.wish.is_work() || self.gives_away() || self.is_in_doubt()
    }

    /// A hand-over has failed. Whether this node is to let go: it fails at everybody that it hears, for
    /// WAITER_TIMEOUT, while they ask for the token.
    fn is_let_down(&mut self, offer: &Offer) -> bool {
        let tenure = self.role.tenure_mut();
        let since = tenure.map(|tenure| tenure.note_refusal(offer));
        since.is_some_and(|since| {
            self.is_in_doubt() && self.members.has_failed_at_all(&self.context, since)
        })
    }

    fn is_in_doubt(&self) -> bool {
        let (now, patience) = (self.context.now(), self.context.waiter_timeout());
        let tenure = self.role.tenure();
        tenure.is_some_and(|it| it.is_in_doubt(now, patience)) && !self.is_shutting_down()
    }

    /// Whether this OWNER outbids another one with a stronger token; then it goes on with one that outdoes that, in the
    /// same tenure.
    pub(super) fn has_outbid(
        &mut self,
        tenure: &Tenure,
        other: Token,
        theirs: Option<Backing>,
    ) -> bool {
        let (confidence, context) = (&mut self.confidence, &self.context);
        if !confidence.outbids(context, tenure, (other, theirs)) {
            return false;
        }
        let old = tenure.token();
        let minted = self.mint(other.progress.saturating_add(LEAD));
        self.confidence.carry_on(&self.context, old, minted);
        self.jobs.carry_on(old, minted);
        self.renew(tenure, minted);
        self.on_heartbeat_due();
        true
    }

    /// An OWNER hears of a token that has outgrown its own: whoever knows that one would refuse
    /// the own one, which would so be lost. It goes on with one that outdoes both. If the other
    /// is alive, its holder gives way.
    pub(super) fn outgrow(&mut self, tenure: &Tenure, other: Token) {
        let held = tenure.token();
        if !other.is_stronger_than(&held) || other.same_chain(&held) {
            return;
        }
        if !self.has_outbid(tenure, other, None) && other.progress < MAX_PROGRESS {
            let minted = self.mint(other.progress + 2);
            self.renew(tenure, minted);
            self.on_heartbeat_due();
        }
    }

    /// A token at least as strong as the one offered was heard of at `holder`.
    pub(super) fn hand_over_complete(&mut self, heard: Token, holder: MacAddr) {
        let Some(offer) = self.role.offer() else {
            return;
        };
        let (to, token) = (offer.to(), offer.token());
        if heard.same_chain(&token) {
            self.members.succeed(to);
            let latency = self.context.now().since(offer.since());
            self.event(Event::HandedOver { to, latency });
        }
        self.known.hear(self.context.now());
        // Whoever took it may have forgotten what this node has asked for meanwhile.
        self.out.stop(Timer::Want);
        self.become_waiter(Reason::TokenHandedOver, token);
        self.set_owner(Some(holder));
    }

    /// WANT_TOKEN: an idle OWNER passes at once, unless it comes from one that has just not taken the
    /// token. A member that asks is no longer paused, even if it
    /// was started anew and has never said so.
    pub(super) fn on_want_token(&mut self, envelope: Envelope) {
        self.members.set_paused(envelope.from, false);
        self.members.set_wants(envelope.from, true);
        if let Some(tenure) = self.role.tenure_mut() {
            tenure.note_asked();
        }
        if self.may_pass() && self.is_urged() {
            self.pass();
        }
    }
}
