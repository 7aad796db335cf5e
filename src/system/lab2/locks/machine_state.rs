//! The part of the state machine's state that the queue depends on.

use std::time::Duration;

use ring_codec::lab2::Token;
use ring_control::lab2::Grade;
use ring_proto::lab2::{OnceProgress, Reason, State};
use ring_proto::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(crate) struct MachineState {
    /// The token; `None` if local clients must not use it.
    pub token: Option<Token>,
    /// The first token of the tenure. A node that outbids another owner gets a new token within the same tenure.
    pub first: Option<Token>,
    /// The end of the owner lease. Before this time, no other node gets the token.
    pub lease_until: Instant,
    pub grade: Grade,
    /// The time at which the grade ends, unless the members confirm it again.
    pub grade_until: Instant,
    /// The shortest WAITER_TIMEOUT of the ring. A confirmation by the members lasts for about this time.
    pub waiter_timeout: Duration,
    /// TAKE_TIMEOUT, the maximum time for an answer of the members.
    pub take_timeout: Duration,
    /// The maximum time for asking the members about a job while other members request the token.
    pub asking_lasts: Duration,
    /// Whether another member requested the token.
    pub others_want: bool,
    /// Whether this turn is so old that it ends as soon as no work is left. Then the turn ends even if no other member
    /// requests the token, because such requests may be lost.
    pub is_turn_over: bool,
    /// The node's state in the ring.
    pub state: State,
    /// The reason why this node last stopped being OWNER.
    pub last_loss: Option<Reason>,
    /// Whether frames can be sent.
    pub link_up: bool,
    /// The last requested job, its client and its progress.
    pub once: Option<(u64, OnceProgress)>,
}

impl MachineState {
    /// Whether other members may wait for the token.
    pub(super) const fn others_may_want(&self) -> bool {
        self.others_want || self.is_turn_over
    }

    /// Whether the tenure with this token still lasts.
    pub(super) fn is_held_under(&self, granted: Token) -> bool {
        let tenure = self.first.zip(self.token);
        tenure.is_some_and(|(first, last)| granted.is_between(&first, &last))
    }

    /// Returns the time until which the token has the required grade; `None` if it does not have this grade.
    pub(super) fn safe_until(&self, required: Grade) -> Option<Instant> {
        let until = match required {
            Grade::Alone => self.lease_until,
            Grade::AllHeard | Grade::Quorum => self.lease_until.min(self.grade_until),
        };
        (self.grade >= required).then_some(until)
    }

    /// Whether this node still sends heartbeats, but the members have confirmed none of them since they confirmed the
    /// grade until `until`. If the node itself could send no heartbeat, the members are not the cause.
    pub(super) fn lacks_answers_after(&self, until: Instant) -> bool {
        // Without another heartbeat, the lease of the owner ends only slightly later than the grade.
        self.lease_until.since(until) >= self.waiter_timeout / 8
    }

    /// Does the same as `safe_until` for a new grant, but returns `None` if the confirmation is about to end. Without
    /// this rule, a command on the smaller side of a split would start and be ended at once.
    pub(super) fn grantable_until(&self, now: Instant, required: Grade) -> Option<Instant> {
        let is_worth_it = |&until: &Instant| {
            required == Grade::Alone || until.since(now) >= self.waiter_timeout / 2
        };
        self.safe_until(required).filter(is_worth_it)
    }
}
