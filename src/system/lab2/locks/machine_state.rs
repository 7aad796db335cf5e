//! The part of the machine's state that the queue depends on.

use std::time::Duration;

use ring_codec::lab2::Token;
use ring_control::lab2::Grade;
use ring_proto::lab2::{OnceProgress, Reason, State};
use ring_proto::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(crate) struct MachineState {
    /// The token, if local clients may use it.
    pub token: Option<Token>,
    /// The first token of the tenure. A node that outbids another owner gets a new one within its tenure.
    pub first: Option<Token>,
    /// The end of the owner lease: no other node is granted the token before then.
    pub lease_until: Instant,
    pub grade: Grade,
    /// When the grade ends, unless the members confirm it again.
    pub grade_until: Instant,
    /// The shortest WAITER_TIMEOUT of the ring: about as long as a confirmation lasts.
    pub waiter_timeout: Duration,
    /// TAKE_TIMEOUT: the maximum time for an answer of the members.
    pub take_timeout: Duration,
    /// The maximum time for asking the members about a job while others want the token.
    pub asking_lasts: Duration,
    /// Whether another member has requested the token.
    pub others_want: bool,
    /// Whether this turn is long enough to end when no work is left: requests of others may be lost.
    pub is_turn_over: bool,
    /// The node's state in the ring.
    pub state: State,
    /// The reason why this node last ceased to be OWNER.
    pub last_loss: Option<Reason>,
    /// Whether frames can be sent.
    pub link_up: bool,
    /// The last requested job, with its client and its progress.
    pub once: Option<(u64, OnceProgress)>,
}

impl MachineState {
    /// Whether another member may wait for the token.
    pub(super) const fn others_may_want(&self) -> bool {
        self.others_want || self.is_turn_over
    }

    /// Whether the tenure with this token still lasts.
    pub(super) fn is_held_under(&self, granted: Token) -> bool {
        let tenure = self.first.zip(self.token);
        tenure.is_some_and(|(first, last)| granted.is_between(&first, &last))
    }

    /// Returns the time until which the token has the required grade; `None`: it has not.
    pub(super) fn safe_until(&self, required: Grade) -> Option<Instant> {
        let until = match required {
            Grade::Alone => self.lease_until,
            Grade::AllHeard | Grade::Quorum => self.lease_until.min(self.grade_until),
        };
        (self.grade >= required).then_some(until)
    }

    /// Returns the same for a grant. A confirmation that is about to end is not enough. A command would be ended at
    /// once, as on the smaller side of a split, where members do not renew it.
    pub(super) fn grantable_until(&self, now: Instant, required: Grade) -> Option<Instant> {
        let is_worth_it = |&until: &Instant| {
            required == Grade::Alone || until.since(now) >= self.waiter_timeout / 2
        };
        self.safe_until(required).filter(is_worth_it)
    }
}
