//! Grades of this node's tenure, and its promises to other owners: the state machine around [`Confidence`].

use ring_codec::MacAddr;
use ring_codec::lab2::{self, Backing, Digest, Token};

use super::timer::Timer;
use crate::lab2::confidence::{Confidence, Votes};
use crate::lab2::envelope::Envelope;
use crate::lab2::tenure::Tenure;
use crate::lab2::{Grade, Lab2, State};
use crate::time::Instant;

impl Lab2 {
    /// Answers a heartbeat with PING, and with a promise if this node has promised nothing to another holder. Returns
    /// whether it did.
    pub(super) fn answer_heartbeat(
        &mut self,
        envelope: Envelope,
        (token, beat): (Token, Option<u32>),
        digest: Digest,
    ) -> bool {
        let (context, out) = (&self.context, &mut self.out);
        let known = self.known.token();
        // A promise holds until it ends, even if this node knows a stronger token of another owner: otherwise a machine
        // that was alone could take the holder's majority ("Differences" in docs/protocol.md).
        let is_bound = known.is_some_and(|known| !known.same_chain(&token))
            && self.confidence.is_bound_to(context, token, envelope.from);
        let may_confirm = self.role.state() == State::Waiter && (known == Some(token) || is_bound);
        if !envelope.broadcast || !may_confirm || !out.may_reply() {
            return false;
        }
        let heartbeat = (envelope, token, beat);
        let limits = (digest, self.fitness.is_apart());
        self.confidence
            .answer_heartbeat(context, &mut self.members, out, heartbeat, limits)
    }

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

    /// Computes the grade of the tenure, and until when it holds.
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

    /// Ends a grade whose promises have ended. Every input calls this first, so that no rule relies on an old grade.
    pub(super) fn expire_grade(&mut self) {
        if self.out.take_due(Timer::Grade, self.context.now()) {
            self.review_grade();
        }
    }

    /// Computes the grade again if the ring has another size than at the last time: the majority may be larger.
    pub(super) fn review_ring_size(&mut self) {
        if (self.confidence).is_other_ring_size(&self.context, &self.members) {
            self.review_grade();
        }
    }

    /// Asks the members to confirm the tenure before the next heartbeat is due, if it may ask.
    pub(super) fn ask_to_confirm(&mut self) {
        let (context, members) = (&self.context, &self.members);
        let tenure = self.role.unoffered();
        if tenure.is_some_and(|it| (self.confidence).may_ask_now(context, members, it.token())) {
            self.send_token_is_here(MacAddr::BROADCAST);
        }
    }

    /// Returns how the tenure of this node is backed; `None` if there is none, or its token is offered.
    pub(super) fn backing(&self) -> Option<Backing> {
        let tenure = self.role.tenure()?;
        self.confidence.backing(&self.context, tenure)
    }

    fn current_grade(&self) -> Option<(Grade, Instant)> {
        let tenure = self.role.unoffered().filter(|_| self.may_use_token())?;
        self.confidence.grade(tenure.token())
    }

    /// Returns the grade of the token that this node holds; [`Grade::Alone`] if it holds none.
    pub fn grade(&self) -> Grade {
        self.current_grade()
            .map_or(Grade::Alone, |(grade, _)| grade)
    }

    /// Returns when the [grade](Self::grade) ends if no member confirms the tenure again; `None` if it is
    /// [`Grade::Alone`].
    pub fn grade_until(&self) -> Option<Instant> {
        self.current_grade().map(|(_, until)| until)
    }

    /// Returns how many members confirm this node's tenure. The node itself counts if it is free to confirm.
    pub fn votes(&self) -> Votes {
        let token = self.role.tenure().map(Tenure::token);
        self.confidence.votes(&self.context, &self.members, token)
    }

    /// Returns how many other members must confirm a [`Grade::AllHeard`]: all that were heard lately.
    pub fn count_recently_heard(&self) -> usize {
        Confidence::heard_lately(&self.context, &self.members)
    }

    /// Whether a lock that was granted under this token is still good, as far as the tenure decides.
    pub fn is_lock_good(&self, token: Token) -> bool {
        self.role.unoffered().is_some() && self.has_held(token)
    }

    /// Whether this is the token held, or one that it has replaced in the same tenure. It may be offered to a
    /// successor.
    pub fn has_held(&self, token: Token) -> bool {
        self.role.tenure().is_some_and(|tenure| {
            let held = tenure.token();
            token.is_between(&self.confidence.first_token(held), &held)
        })
    }

    /// Returns the first token of the tenure. It differs from [the token held](Self::token) if this node has outbid
    /// another owner. A lock that was granted under it, or under any later token of the tenure, is still good.
    pub fn tenure_began_with(&self) -> Option<Token> {
        let tenure = self.role.unoffered()?;
        Some(self.confidence.first_token(tenure.token()))
    }
}
