//! Constants of the protocol in a test, and the time bounds that follow from the constants.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Delay that an exclusive test permits when it judges a timeout. Other tests wait for
/// [`WAIT_LIMIT`](crate::WAIT_LIMIT).
pub const SLACK: Duration = Duration::from_millis(1200);
/// An IDLE_HOLD longer than any test. With this value, an idle token rests.
pub const LONG_IDLE_HOLD: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    pub heartbeat: Duration,
    pub take_timeout: Duration,
    pub idle_hold: Duration,
    pub waiter_intervals: u32,
}

impl Timing {
    /// Returns constants that make handovers succeed on a busy machine: TAKE_TIMEOUT is a quarter of the heartbeat
    /// instead of a twentieth of it. IDLE_HOLD is a tenth of the heartbeat instead of the whole heartbeat, so the token
    /// soon visits all members.
    pub fn tolerant(heartbeat: Duration) -> Self {
        Self {
            heartbeat,
            take_timeout: heartbeat / 4,
            idle_hold: heartbeat / 10,
            waiter_intervals: 4,
        }
    }

    /// Returns constants that make a stall of half a second harmless, with a heartbeat of 100 ms. An owner's timeout is
    /// twelve heartbeats, and a member has six heartbeats to take the token.
    pub fn stall_tolerant(heartbeat: Duration) -> Self {
        Self {
            take_timeout: 2 * heartbeat,
            waiter_intervals: 12,
            ..Self::tolerant(heartbeat)
        }
    }

    pub fn idle_hold(self, idle_hold: Duration) -> Self {
        Self { idle_hold, ..self }
    }

    pub fn waiter_timeout(&self) -> Duration {
        self.heartbeat * self.waiter_intervals
    }

    pub fn looser_timeout(&self) -> Duration {
        self.heartbeat * (self.waiter_intervals / 2)
    }

    pub fn answer_timeout(&self) -> Duration {
        self.heartbeat
    }

    /// Returns the time during which a giver tries to hand the token over to one member.
    pub fn hand_over_timeout(&self) -> Duration {
        self.take_timeout * 3 + self.take_timeout / 2
    }

    /// Returns the longest time from the last lost frame until only one owner remains. This time includes handovers
    /// (`docs/reference/lab2/promises.md Q2`).
    pub fn one_owner_bound(&self) -> Duration {
        let hand_overs = 2 * self.hand_over_timeout();
        self.waiter_timeout() + 2 * self.looser_timeout() + 2 * self.answer_timeout() + hand_overs
    }

    /// Returns the longest time from the crash of an owner until a new owner exists
    /// (`docs/reference/lab2/promises.md Q4`).
    pub fn new_owner_bound(&self) -> Duration {
        self.waiter_timeout() + self.looser_timeout() + 2 * self.answer_timeout()
    }
}
