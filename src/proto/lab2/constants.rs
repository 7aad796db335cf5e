//! The protocol's constants, and which combinations of them can work.

use std::time::Duration;

/// The constants of one ring (`lab2.md`, sections 1 and 4). All members must agree on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constants {
    /// HEART_BEAT_PERIOD: how often an OWNER broadcasts TOKEN_IS_HERE.
    pub heartbeat: Duration,
    /// WAITER_SLEEP_INTERVALS, in heartbeat periods.
    pub waiter_intervals: u32,
    /// LOOSER_ANSWER_INTERVALS, in heartbeat periods.
    pub answer_intervals: u32,
    /// TAKE_TIMEOUT: how long one TAKE_TOKEN waits for its acknowledgement.
    pub take_timeout: Duration,
    /// TAKE_ATTEMPTS: how often TAKE_TOKEN is sent to one member.
    pub take_attempts: u32,
    /// IDLE_HOLD: how long an OWNER without work keeps the token.
    pub idle_hold: Duration,
    /// The frames' EtherType.
    pub ethertype: u16,
    /// The most members that the table holds, the node itself included.
    pub max_members: usize,
}
