//! What the machine knows that the queue has to know.

use std::time::Duration;

use ring_codec::lab2::Token;
use ring_proto::lab2::{OnceStanding, Reason, State};
use ring_proto::time::Instant;

use crate::control::Grade;

/// What the machine knows.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The token, if it may be used here now.
    pub token: Option<Token>,
    /// Nobody else is granted the token before then.
    pub lease_until: Instant,
    /// How safe the token is, and until when.
    pub grade: Grade,
    /// When the grade ends unless it is confirmed again.
    pub grade_until: Instant,
    /// The shortest WAITER_TIMEOUT of the ring: about as long as what is confirmed anew lasts.
    pub patience: Duration,
    /// TAKE_TIMEOUT: how long an answer of the members may take.
    pub take_timeout: Duration,
    /// How long the members may be asked about a job while others want the token.
    pub asking_lasts: Duration,
    /// Another member has asked for the token.
    pub others_want: bool,
    /// The state.
    pub state: State,
    /// Why this node was OWNER no longer when that happened last.
    pub last_loss: Option<Reason>,
    /// Frames can be sent.
    pub link_up: bool,
    /// The job that was asked for last, by its client, and how far that has come.
    pub once: Option<(u64, OnceStanding)>,
}

impl Facts {
    /// Until when the token is as safe as required; `None` if it is not.
    pub(super) fn safe_until(&self, required: Grade) -> Option<Instant> {
        let until = match required {
            Grade::Alone => self.lease_until,
            Grade::View | Grade::Quorum => self.lease_until.min(self.grade_until),
        };
        (self.grade >= required).then_some(until)
    }

    /// The same for who is to be granted the token: what the members have promised is worth no command
    /// that is ended again at once, as on the smaller side of a cut, where nobody renews it.
    pub(super) fn worth_granting_until(&self, now: Instant, required: Grade) -> Option<Instant> {
        let is_worth_it =
            |&until: &Instant| required == Grade::Alone || until.since(now) >= self.patience / 2;
        self.safe_until(required).filter(is_worth_it)
    }
}
