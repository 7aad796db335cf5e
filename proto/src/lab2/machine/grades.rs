//! The grade of this node's tenure, and this node's promises to other owners. [`Confidence`] has the rules. This file
//! connects the rules with the other parts.

use ring_codec::MacAddr;
use ring_codec::lab2::{self, Backing, Digest, Token};

use super::timer::Timer;
use crate::lab2::confidence::{Confidence, Votes};
use crate::lab2::envelope::Envelope;
use crate::lab2::tenure::Tenure;
use crate::lab2::{Grade, Lab2, State};
use crate::time::Instant;

impl Lab2 {
    /// Answers a heartbeat with PING. The PING contains a promise, unless an earlier promise to a different holder
    /// forbids this. Returns whether it answered.
    pub(super) fn answer_heartbeat(
        &mut self,
        envelope: Envelope,
        (token, beat): (Token, Option<u32>),
        digest: Digest,
    ) -> bool {
        let (context, out) = (&self.context, &mut self.out);
        let known = self.known.token();
        // A promise holds until its end, even if this node learns of a stronger token of another owner. Otherwise a
        // machine that was isolated could take the holder's majority away (`docs/reference/lab2/grades.md B8`).
        let is_bound = known.is_some_and(|known| !known.same_chain(&token))
            && self.confidence.is_bound_to(context, token, envelope.from);
        let may_confirm = self.role.state() == State::Waiter && (known == Some(token) || is_bound);
        if !envelope.broadcast || !may_confirm || !out.may_reply() {
            return false;
        }
        let heartbeat = (envelope, token, beat);
        // A restarted node waits for at most 10 × its own WAITER_TIMEOUT before it promises again. So a node that is
        // apart, which uses the ring's longer times, must not promise for longer.
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

    /// Computes the grade of the tenure, and the time at which this grade ends.
    pub(super) fn review_grade(&mut self) {
        self.out.stop(Timer::Grade);
        let Some(tenure) = self.role.unoffered_tenure() else {
            return;
        };
        let (token, before) = (tenure.token(), self.grade());
        let lease = self.lease_until();
        let (context, members) = (&self.context, &self.members);
        self.confidence
            .recompute_grade(context, members, &mut self.out, (token, lease));
        // A job that requires a grade must not begin after the grade is lost.
        if self.grade() != before {
            self.review_jobs();
            self.review_locks();
        }
    }

    /// If the promises for the grade ended, computes the grade again. Every input first calls this function, so rules
    /// never rely on an old grade.
    pub(super) fn expire_grade(&mut self) {
        if self.out.take_due(Timer::Grade, self.context.now()) {
            self.review_grade();
        }
    }

    /// If the size of the ring changed, computes the grade again, because the majority may be larger now.
    pub(super) fn review_ring_size(&mut self) {
        if (self.confidence).is_other_ring_size(&self.context, &self.members) {
            self.review_grade();
        }
    }

    /// If the node may ask now, asks the members to confirm the tenure, before the next heartbeat is due.
    pub(super) fn ask_to_confirm(&mut self) {
        let (context, members) = (&self.context, &self.members);
        let tenure = self.role.unoffered_tenure();
        if tenure.is_some_and(|it| (self.confidence).may_ask_now(context, members, it.token())) {
            self.send_token_is_here(MacAddr::BROADCAST);
        }
    }

    /// Returns the backing of this node's tenure. Returns `None` if the node has no tenure, or if it offers the token
    /// to another member.
    pub(super) fn backing(&self) -> Option<Backing> {
        let tenure = self.role.tenure()?;
        self.confidence.backing(&self.context, tenure)
    }

    fn current_grade(&self) -> Option<(Grade, Instant)> {
        let tenure = self
            .role
            .unoffered_tenure()
            .filter(|_| self.may_use_token())?;
        self.confidence.grade(tenure.token())
    }

    /// Returns the grade of the token that this node holds. Returns [`Grade::Alone`] if this node holds no token.
    pub fn grade(&self) -> Grade {
        self.current_grade()
            .map_or(Grade::Alone, |(grade, _)| grade)
    }

    /// Returns the time at which the [grade](Self::grade) ends unless a member confirms the tenure again. Returns
    /// `None` if the grade is [`Grade::Alone`].
    pub fn grade_until(&self) -> Option<Instant> {
        self.current_grade().map(|(_, until)| until)
    }

    /// Returns the number of members that confirm this node's tenure. This node counts as a confirming member if it is
    /// free to confirm the tenure.
    pub fn votes(&self) -> Votes {
        self.votes_at(self.context.now())
    }

    /// Returns the numbers that [`votes`](Self::votes) will return at the end of the [grade](Self::grade) if no member
    /// confirms the tenure again before. If the grade has ended, returns the present numbers.
    pub fn votes_at_grade_end(&self) -> Votes {
        let now = self.context.now();
        self.votes_at(self.grade_until().map_or(now, |until| until.max(now)))
    }

    fn votes_at(&self, at: Instant) -> Votes {
        let token = self.role.tenure().map(Tenure::token);
        self.confidence
            .votes(&self.context, &self.members, (token, at))
    }

    /// Returns the number of other members that must confirm the tenure for the grade [`Grade::AllHeard`]. All members
    /// that were heard recently must confirm the tenure.
    pub fn count_recently_heard(&self) -> usize {
        Confidence::heard_lately(&self.context, &self.members)
    }

    /// Whether a lock with this token is still valid, because the tenure of the token still lasts.
    pub fn is_lock_good(&self, token: Token) -> bool {
        self.role.unoffered_tenure().is_some() && self.has_held(token)
    }

    /// Whether this token is the held token, or an earlier token of the same tenure. Also `true` while this node offers
    /// the held token to a successor.
    pub fn has_held(&self, token: Token) -> bool {
        self.role.tenure().is_some_and(|tenure| {
            let held = tenure.token();
            token.is_between(&self.confidence.first_token(held), &held)
        })
    }

    /// Returns the first token of the tenure. The first token differs from [the held token](Self::token) if this node
    /// outbid another owner. If a lock was granted with the first token or a later token of the tenure, it is still
    /// valid.
    pub fn tenure_began_with(&self) -> Option<Token> {
        let tenure = self.role.unoffered_tenure()?;
        Some(self.confidence.first_token(tenure.token()))
    }
}
