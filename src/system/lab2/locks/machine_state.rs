//! The machine's state, as far as the queue depends on it.

use std::time::Duration;

use ring_codec::lab2::Token;
use ring_control::lab2::Grade;
use ring_proto::lab2::{OnceStanding, Reason, State};
use ring_proto::time::Instant;

/// The machine's state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MachineState {
    /// The token, if it may be used here now.
    pub token: Option<Token>,
    /// The token under which the tenure began: it has another since this node has outbid another owner.
    pub first: Option<Token>,
    /// The end of the lease: nobody else is granted the token before then.
    pub lease_until: Instant,
    /// The tenure's grade.
    pub grade: Grade,
    /// When the grade ends unless the members confirm it again.
    pub grade_until: Instant,
    /// The shortest WAITER_TIMEOUT of the ring: about as long as a confirmation lasts.
    pub patience: Duration,
    /// TAKE_TIMEOUT: upper bound for an answer of the members.
    pub take_timeout: Duration,
    /// Maximum time for asking the members about a job while others want the token.
    pub asking_lasts: Duration,
    /// Another member has asked for the token.
    pub others_want: bool,
    /// The token has been here for so long that it goes on when no work is left: who asks for it may not be heard.
    pub turn_over: bool,
    /// The machine's state in the ring.
    pub state: State,
    /// Why this node was OWNER no longer when that happened last.
    pub last_loss: Option<Reason>,
    /// Frames can be sent.
    pub link_up: bool,
    /// The job that was asked for last, by its client, and its progress.
    pub once: Option<(u64, OnceStanding)>,
}

impl MachineState {
    /// Returns whether another member may wait for the token.
    pub(super) const fn others_may_want(&self) -> bool {
        self.others_want || self.turn_over
    }

    /// Returns whether the lock is still here that was granted under this token.
    pub(super) fn is_held_under(&self, granted: Token) -> bool {
        let tenure = self.first.zip(self.token);
        tenure.is_some_and(|(first, last)| granted.is_between(&first, &last))
    }

    /// Returns until when the token has the required grade; `None` if it has not.
    pub(super) fn safe_until(&self, required: Grade) -> Option<Instant> {
        let until = match required {
            Grade::Alone => self.lease_until,
            Grade::View | Grade::Quorum => self.lease_until.min(self.grade_until),
        };
        (self.grade >= required).then_some(until)
    }

    /// The same for a grant: a promise that is about to end is not worth a command that would be ended again at
    /// once, as on the smaller side of a cut, where nobody renews it.
    pub(super) fn worth_granting_until(&self, now: Instant, required: Grade) -> Option<Instant> {
        let is_worth_it =
            |&until: &Instant| required == Grade::Alone || until.since(now) >= self.patience / 2;
        self.safe_until(required).filter(is_worth_it)
    }
}
