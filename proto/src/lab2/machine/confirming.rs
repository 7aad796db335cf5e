//! How safe the tenure of this node is, and what it promises to others.

use ring_codec::MacAddr;
use ring_codec::lab2::{self, Backing, Digest, Token};

use super::timer::Timer;
use crate::lab2::confidence::{Confidence, Votes};
use crate::lab2::envelope::Envelope;
use crate::lab2::tenure::Tenure;
use crate::lab2::{Grade, Lab2, State};
use crate::time::Instant;

impl Lab2 {
    /// A heartbeat is answered with PING: with a promise if there is none to another holder.
    /// Whether it was.
    pub(super) fn confirm(
        &mut self,
        envelope: Envelope,
        (token, beat): (Token, Option<u32>),
        digest: Digest,
    ) -> bool {
        let (context, out) = (&self.context, &mut self.out);
        let known = self.known.token();
        // A stronger token that is known of another owner does not end what was promised.
        let is_bound = known.is_some_and(|known| !known.same_chain(&token))
            && self.confidence.is_bound_to(context, token, envelope.from);
        let heard = self.role.state() == State::Waiter && (known == Some(token) || is_bound);
        if !envelope.broadcast || !heard || !out.may_reply() {
            return false;
        }
        let (heartbeat, told) = ((envelope, token, beat), (digest, self.fitness.is_apart()));
        self.confidence
            .answer_heartbeat(context, &mut self.members, out, heartbeat, told)
    }

    /// PING with a promise for the tenure of this node.
    pub(super) fn on_promise(&mut self, from: MacAddr, promise: &lab2::Promise) {
        let (context, members) = (&self.context, &self.members);
        if let Some(tenure) = self.role.tenure()
            && (self.confidence).on_promise(
                context,
                members,
                &mut self.out,
                (tenure, from),
                promise,
            )
        {
            self.review_grade();
        }
    }

    /// Finds out how safe the tenure is now, and until when.
    pub(super) fn review_grade(&mut self) {
        self.out.stop(Timer::Grade);
        let Some(tenure) = self.role.unoffered() else {
            return;
        };
        let (token, before) = (tenure.token(), self.grade());
        let lease = self.lease_until();
        let (context, members) = (&self.context, &self.members);
        self.confidence
            .review(context, members, &mut self.out, (token, lease));
        if self.grade() != before {
            self.review_jobs();
        }
    }

    /// A grade ends when the promises do. Called before anything else that an input does.
    pub(super) fn expire_grade(&mut self) {
        if self.out.take_due(Timer::Grade, self.context.now()) {
            self.review_grade();
        }
    }

    /// Members that were not known when the grade was found out make the majority larger.
    pub(super) fn recount(&mut self) {
        if (self.confidence).is_miscounted(&self.context, &self.members) {
            self.review_grade();
        }
    }

    /// Asks the members to confirm the tenure now, instead of at the next heartbeat, if it may ask.
    pub(super) fn ask_to_confirm(&mut self) {
        let (context, members) = (&self.context, &self.members);
        let tenure = self.role.unoffered();
        if tenure.is_some_and(|it| (self.confidence).may_ask_now(context, members, it.token())) {
            self.token_is_here(MacAddr::BROADCAST);
        }
    }

    /// Returns how the tenure of this node is backed; `None` if there is none, or its token is offered.
    pub(super) fn backing(&self) -> Option<Backing> {
        let tenure = self.role.tenure()?;
        self.confidence.backing(&self.context, tenure)
    }

    fn confirmed(&self) -> Option<(Grade, Instant)> {
        let tenure = self.role.unoffered().filter(|_| self.may_use_token())?;
        self.confidence.grade(tenure.token())
    }

    /// How safe the token is that is held here; [`Grade::Alone`] if none is.
    pub fn grade(&self) -> Grade {
        self.confirmed().map_or(Grade::Alone, |(grade, _)| grade)
    }

    /// Until when the [grade](Self::grade) holds if nobody confirms the tenure again; `None`: it is
    /// [`Grade::Alone`].
    pub fn grade_until(&self) -> Option<Instant> {
        self.confirmed().map(|(_, until)| until)
    }

    /// How many members confirm the tenure of this node, itself included, as far as it may.
    pub fn votes(&self) -> Votes {
        let token = self.role.tenure().map(Tenure::token);
        self.confidence.votes(&self.context, &self.members, token)
    }

    /// How many other members must confirm a [`Grade::View`]: those that were heard lately.
    pub fn heard_lately(&self) -> usize {
        Confidence::heard_lately(&self.context, &self.members)
    }

    /// Whether a lock that was granted under this token is still good, as far as the tenure is concerned.
    pub fn carries(&self, token: Token) -> bool {
        self.role.unoffered().is_some() && self.has_held(token)
    }

    /// Whether this is the token that is held, be it offered, or one that it took the place of in the same tenure.
    pub fn has_held(&self, token: Token) -> bool {
        self.role.tenure().is_some_and(|tenure| {
            let held = tenure.token();
            token.is_between(&self.confidence.began_with(held), &held)
        })
    }

    /// Returns the token under which the tenure began, which is not [the one held](Self::token) if this node has
    /// outbid another owner since: a lock that was granted under it, or under any since, is still good.
    pub fn tenure_began_with(&self) -> Option<Token> {
        let tenure = self.role.unoffered()?;
        Some(self.confidence.began_with(tenure.token()))
    }
}
