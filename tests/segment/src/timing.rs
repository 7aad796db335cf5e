//! The protocol's constants as a test sets them, and what follows from them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a machine may add to any time-out of the protocol for a test that judges it, and that runs alone
/// therefore (`exclusive`). Whoever does not judge has [`PATIENCE`](crate::PATIENCE).
pub const SLACK: Duration = Duration::from_millis(1200);
/// Longer than any test holds a token: it stays where it is.
pub const FOR_GOOD: Duration = Duration::from_secs(3600);

/// The constants of a ring under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// HEART_BEAT_PERIOD.
    pub heartbeat: Duration,
    /// TAKE_TIMEOUT.
    pub take_timeout: Duration,
    /// IDLE_HOLD.
    pub idle_hold: Duration,
    /// WAITER_SLEEP_INTERVALS.
    pub waiter_intervals: u32,
}

impl Timing {
    /// Hand-overs that a busy machine does not break off: TAKE_TIMEOUT is a quarter of the
    /// heartbeat and not a twentieth. The token is soon seen everywhere: IDLE_HOLD is a tenth of the
    /// heartbeat and not all of it.
    pub fn patient(heartbeat: Duration) -> Self {
        Self {
            heartbeat,
            take_timeout: heartbeat / 4,
            idle_hold: heartbeat / 10,
            waiter_intervals: 4,
        }
    }

    /// The same where nobody may be given up whom a busy machine has but stalled, for half a second
    /// at a heartbeat of 100 ms: an owner is trusted for twelve heartbeats, and a member has six of
    /// them to take the token.
    pub fn forbearing(heartbeat: Duration) -> Self {
        Self {
            take_timeout: 2 * heartbeat,
            waiter_intervals: 12,
            ..Self::patient(heartbeat)
        }
    }

    /// The same with another IDLE_HOLD.
    pub fn idle_hold(self, idle_hold: Duration) -> Self {
        Self { idle_hold, ..self }
    }

    /// WAITER_TIMEOUT.
    pub fn waiter_timeout(&self) -> Duration {
        self.heartbeat * self.waiter_intervals
    }

    /// LOOSER_TIMEOUT.
    pub fn looser_timeout(&self) -> Duration {
        self.heartbeat * (self.waiter_intervals / 2)
    }

    /// LOOSER_ANSWER_TIMEOUT.
    pub fn answer_timeout(&self) -> Duration {
        self.heartbeat
    }

    /// How long a giver waits for one member in all.
    pub fn hand_over_timeout(&self) -> Duration {
        self.take_timeout * 3 + self.take_timeout / 2
    }

    /// How soon one owner remains when frames stop being lost (section 5, rule 2), hand-overs in
    /// flight included.
    pub fn one_owner_bound(&self) -> Duration {
        let hand_overs = 2 * self.hand_over_timeout();
        self.waiter_timeout() + 2 * self.looser_timeout() + 2 * self.answer_timeout() + hand_overs
    }

    /// How soon a new owner is up after the old one's crash (section 5, rule 4).
    pub fn new_owner_bound(&self) -> Duration {
        self.waiter_timeout() + self.looser_timeout() + 2 * self.answer_timeout()
    }
}
