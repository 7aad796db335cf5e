//! OWNER: passing the token on, once and for all, to one successor.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{MAX_PROGRESS, Token};

use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::{AckState, Offer, Role, Tenure, Unsent};
use crate::lab2::{Constants, Event, Lab2, Reason};

impl Lab2 {
    /// Whether the token could go on: there is another member, and no work here.
    pub(crate) fn may_pass(&self) -> bool {
        self.role.unoffered().is_some()
            && self.table.len() > 1
            && !self.is_deaf()
            && (!self.want || self.gives_away())
    }

    /// Whether the token is to go whatever work there is here.
    pub(crate) fn gives_away(&self) -> bool {
        self.owns_nothing() || self.is_shutting_down()
    }

    /// Offers the token to the member whose turn it is; whether there is one. An offer that could not be
    /// sent has its time before it is repeated, whatever comes meanwhile.
    pub(crate) fn pass(&mut self) -> bool {
        if let Role::Owner(tenure) = &mut self.role
            && let Some(last) = tenure.interrupted.take()
        {
            // The others have waited for longer than any work that there is here by now.
            return self.offer_after(last, true);
        }
        if !self.may_pass() {
            return false;
        }
        let Some(Unsent { to, at, .. }) = self.unsent() else {
            return self.offer_after(self.me(), false);
        };
        let due = at + self.context.constants().take_timeout;
        if self.context.now() >= due {
            return self.offer_to(to);
        }
        self.out.set(Timer::Pass, due);
        true
    }

    /// The offer that could not be sent, if its member may still be offered the token.
    fn unsent(&self) -> Option<Unsent> {
        let Role::Owner(Tenure { unsent, .. }) = self.role else {
            return None;
        };
        let unsent = unsent?;
        let peer = &self.table.peers()[self.table.find(unsent.to)?];
        peer.is_eligible(self.alive_since()).then_some(unsent)
    }

    /// Offers the token whatever work there is here, to `to` or the member whose turn it is.
    pub(crate) fn yield_to(&mut self, to: Option<MacAddr>) {
        if self.role.unoffered().is_none() {
            return;
        }
        match to {
            None => {
                self.offer_after(self.me(), false);
            }
            Some(to) if to == self.me() || self.table.find(to).is_none() => {}
            Some(to) => {
                self.offer_to(to);
            }
        }
    }

    /// Offers the token to this member; whether there is anything left to offer, and it may be offered.
    fn offer_to(&mut self, to: MacAddr) -> bool {
        if self.waits_for_objections() {
            return false;
        }
        let Role::Owner(tenure) = self.role else {
            return false;
        };
        self.out.stop(Timer::Pass);
        if tenure.token.progress >= MAX_PROGRESS {
            self.event(Event::ProgressExhausted);
            return false;
        }
        let progress = self.next_progress(tenure);
        let token = Token {
            progress,
            ..tenure.token
        };
        self.offer(to, token);
        true
    }

    /// Offers the token to the next member in ring order after `last`; when the round is over
    /// this node stays OWNER. Whether it is offered.
    fn offer_after(&mut self, last: MacAddr, minted: bool) -> bool {
        if self.waits_for_objections() {
            if let Role::Owner(tenure) = &mut self.role {
                tenure.interrupted = minted.then_some(last);
            }
            return false;
        }
        let me = self.me();
        let alive = self.alive_since();
        let passed_over = if last == me { self.passed_over() } else { None };
        if let Role::Owner(tenure) = &mut self.role {
            tenure.ahead = passed_over;
        }
        let wanting = passed_over.or_else(|| self.table.next_wanting(last, me, alive));
        let next = wanting.or_else(|| self.table.next_eligible(last, me, alive));
        if next.is_some_and(|to| self.offer_to(to)) {
            return true;
        }
        self.out.stop(Timer::Pass);
        self.stay(minted);
        false
    }

    /// The member that is to have the token before all others: who has given it to this node does not hear it.
    fn passed_over(&mut self) -> Option<MacAddr> {
        let Role::Owner(Tenure {
            giver: Some(giver),
            token,
            known_before,
            ..
        }) = self.role
        else {
            return None;
        };
        // What it has just minted shows that it has tried somebody in vain.
        let is_known = known_before.is_some_and(|known| known.same_chain(&token));
        if token.author == giver && !is_known {
            return None;
        }
        let (me, alive) = (self.me(), self.alive_since());
        self.table.passed_over(giver, me, alive)
    }

    /// After whom the round goes on when `failed` has not taken the token: who was passed over had it before its turn.
    fn goes_on_after(&self, failed: MacAddr) -> MacAddr {
        match self.role {
            Role::Owner(Tenure { ahead, .. }) if ahead == Some(failed) => self.me(),
            _ => failed,
        }
    }

    /// What the token's progress is once it is handed over. Decided once: an offer that could not
    /// be sent is made again as it was.
    fn next_progress(&mut self, tenure: Tenure) -> u64 {
        let Token { progress, .. } = tenure.token;
        let next = tenure.next_progress.unwrap_or_else(|| {
            let (now, patience) = (self.context.now(), self.context.waiter_timeout());
            let step = self.rivals.take_step(now, tenure.token, patience);
            (progress + step).min(MAX_PROGRESS)
        });
        if let Role::Owner(tenure) = &mut self.role {
            tenure.next_progress = Some(next);
        }
        next
    }

    /// Nobody is left to offer the token to.
    fn stay(&mut self, minted: bool) {
        if minted {
            self.token_is_here(MacAddr::BROADCAST);
        }
        if self.is_shutting_down() {
            self.leave();
        } else {
            // A turn of nobody must not become a busy loop.
            let pause = if minted && self.table.wanting > 0 {
                self.context.constants().take_timeout
            } else {
                self.before_the_next_round()
            };
            if let Role::Owner(tenure) = &mut self.role {
                tenure.rests_until = self.context.now() + pause;
            }
            self.timer_in(Timer::Pass, pause);
        }
    }

    /// How long nobody is offered the token that nobody has taken: a turn of nobody must not become a
    /// busy loop. A node that is to own nothing does not wait for a long IDLE_HOLD.
    pub(crate) fn before_the_next_round(&self) -> Duration {
        let Constants {
            idle_hold,
            heartbeat,
            take_timeout,
            ..
        } = *self.context.constants();
        let rests = if self.gives_away() {
            idle_hold.min(heartbeat)
        } else {
            idle_hold
        };
        rests.max(take_timeout)
    }

    /// The offer is known, and stored, before it leaves; [`offered`](Self::offered) goes on.
    fn offer(&mut self, to: MacAddr, token: Token) {
        self.learn(token, self.me(), None);
        self.send(to, Content::TakeToken(token));
    }

    /// A TAKE_TOKEN was sent, or could not be: then it is tried again, and does not count unless that
    /// goes on.
    pub(crate) fn offered(&mut self, to: MacAddr, token: Token, accepted: bool) {
        let now = self.context.now();
        let Role::Owner(tenure) = &mut self.role else {
            return;
        };
        let before = tenure.unsent.filter(|unsent| unsent.to == to);
        let times = before.map_or(0, |unsent| unsent.times) + 1;
        tenure.unsent = (!accepted).then_some(Unsent { to, times, at: now });
        // An interface that refuses all at once must not have all members offered the token at once.
        let in_vain = !accepted && times > self.context.constants().take_attempts;
        match &mut tenure.offer {
            Some(offer) if accepted => {
                offer.attempts += 1;
                offer.departs = true;
            }
            Some(offer) if in_vain => {
                let offer = *offer;
                return self.hand_over_failed(offer);
            }
            Some(_) => {}
            None if in_vain => return self.not_offered(to, token),
            None if accepted => {
                tenure.offer = Some(Offer {
                    to,
                    token,
                    attempts: 1,
                    since: now,
                    departs: true,
                });
                self.learn(token, to, None);
                // It has had its turn once it takes this; what it asks for from now on is the next.
                self.table.set_wants(to, false);
                // A token that is yielded is given away with work left.
                self.go_on_wanting();
            }
            None => return self.timer_in(Timer::Pass, self.context.constants().take_timeout),
        }
        let attempts = self.role.offer().map_or(0, |offer| offer.attempts);
        self.timer_in(
            Timer::Take,
            self.context.constants().answered_within(attempts),
        );
    }

    /// TAKE_TIMEOUT has passed without an acknowledgement.
    pub(crate) fn on_take_timeout(&mut self) {
        let Some(offer) = self.role.offer() else {
            return;
        };
        if offer.attempts < self.context.constants().take_attempts {
            self.send(offer.to, Content::TakeToken(offer.token));
        } else {
            self.hand_over_failed(offer);
        }
    }

    /// Nothing could be sent to a member for as long as a hand-over takes. It has no offer, so the token is
    /// still this node's, and may go to another.
    fn not_offered(&mut self, to: MacAddr, token: Token) {
        let Role::Owner(tenure) = &mut self.role else {
            return;
        };
        tenure.unsent = None;
        let took = self.context.constants().take_timeout * self.context.constants().take_attempts;
        let offer = Offer {
            to,
            token,
            attempts: 0,
            since: self.context.now().before(took),
            departs: false,
        };
        let last = self.goes_on_after(to);
        if self.give_up(&offer, last, None) {
            self.offer_after(last, false);
        }
    }

    /// The member may have the chain or not: this node goes on with one of its own (section 2).
    pub(crate) fn hand_over_failed(&mut self, offer: Offer) {
        let Role::Owner(tenure) = self.role else {
            return;
        };
        let last = self.goes_on_after(offer.to);
        let minted = self.mint(offer.token.progress + 1);
        let ack = self.outlived(tenure.ack);
        if matches!(ack, AckState::Unsure(_)) {
            self.out.set(Timer::Heartbeat, self.context.now());
        }
        self.role = Role::Owner(tenure.renewed(minted, ack));
        // Nobody can tell from the new chain that the tenures of the old one are over.
        self.release(offer.token);
        self.broadcast(Content::TokenWasHereRecently(offer.token, self.me()));
        self.note_given_up(offer);
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
        let to = offer.to;
        let in_a_row = self.table.fail(to);
        self.note_failure(offer.since);
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
        let next = self.table.next_wanting(last, self.me(), self.alive_since());
        next.is_some() || !self.want || self.gives_away() || self.is_in_doubt()
    }

    /// An OWNER hears of a token that has outgrown its own: whoever knows that one would refuse
    /// the own one, which would so be lost. It goes on with one that outdoes both. If the other
    /// is alive, its holder gives way.
    pub(crate) fn outbid(&mut self, tenure: Tenure, other: Token) {
        let outgrown = other.is_stronger_than(&tenure.token) && !other.same_chain(&tenure.token);
        if outgrown && self.outbids(&tenure, other, None) {
            self.carry_on(&tenure, other);
        } else if outgrown && other.progress < MAX_PROGRESS {
            let minted = self.mint(other.progress + 2);
            let tenure = Role::Owner(tenure.renewed(minted, self.outlived(tenure.ack)));
            self.change(tenure, Reason::StrongerToken, Some(minted));
            self.on_heartbeat_due();
        }
    }

    /// A new chain, stronger than all that is known here, with a progress of `least` or more.
    pub(crate) fn mint(&mut self, least: u64) -> Token {
        let number = self.known.next_number();
        self.known.use_number(number);
        let known = self.known.token().map_or(0, |known| known.progress);
        let token = Token {
            progress: least.max(known + 1).min(MAX_PROGRESS),
            author: self.me(),
            number,
        };
        self.learn(token, self.me(), None);
        token
    }

    /// A token at least as strong as the one offered was heard of at `holder`.
    pub(crate) fn hand_over_complete(&mut self, heard: Token, holder: MacAddr) {
        let Some(offer) = self.role.offer() else {
            return;
        };
        if heard.same_chain(&offer.token) {
            if let Some(peer) = self.table.peer_mut(offer.to) {
                peer.penalty.succeed();
            }
            let latency = self.context.now().since(offer.since);
            self.event(Event::HandedOver {
                to: offer.to,
                latency,
            });
        }
        self.known.hear(self.context.now());
        // Whoever took it may have forgotten what this node has asked for meanwhile.
        self.out.stop(Timer::Want);
        self.become_waiter(Reason::TokenHandedOver, offer.token);
        self.set_owner(Some(holder));
    }

    /// WANT_TOKEN: an idle OWNER passes at once, unless it comes from one that has just not taken the
    /// token. A member that asks is no longer paused, even if it
    /// was started anew and has never said so.
    pub(crate) fn on_want_token(&mut self, envelope: Envelope) {
        self.table.set_paused(envelope.from, false);
        self.table.set_wants(envelope.from, true);
        if let Role::Owner(Tenure {
            refusals: Some(refusals),
            ..
        }) = &mut self.role
        {
            refusals.is_asked = true;
        }
        if self.may_pass() && self.is_urged() {
            self.pass();
        }
    }
}
