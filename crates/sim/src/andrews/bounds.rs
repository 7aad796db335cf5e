//! The time limits of the recovery (`docs/board/protocol/promises.md`, rules Q).

use std::time::Duration;

use super::database::SESSION_TIMEOUT_FACTOR;
use super::schedule::Schedule;
use crate::kernel::schedule::Schedule as _;

#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The time after which all messages and database answers that are on their way have arrived.
    pub calm: Duration,
    /// The time R of `promises.md`.
    pub silence: Duration,
    /// The time S of `promises.md`.
    pub ring: Duration,
    /// The time until the largest node is coordinator.
    pub led: Duration,
    /// The time until there is one token.
    pub token: Duration,
    /// The duration of a rotation without work.
    pub round: Duration,
    /// The time until the token moves again after a crash.
    pub goes_on: Duration,
}

impl Bounds {
    /// Returns the bounds for a schedule in which `live` nodes are alive.
    pub(super) fn of(schedule: &Schedule, live: usize) -> Self {
        let options = schedule.options(0);
        let count = u32::try_from(live).unwrap_or(u32::MAX);
        let all = u32::try_from(schedule.ids.len()).unwrap_or(u32::MAX);
        let (least, more) = schedule.latency_us;
        let latency = Duration::from_micros(least + more);
        let patience = u32::try_from(SESSION_TIMEOUT_FACTOR).unwrap_or(u32::MAX);
        let silence = options.token_loss_timeout(schedule.ids.len());
        // A claim, a removal or an insertion waits for several reads and writes, which happen one after another.
        let ring = 3 * silence
            + all * (options.connect_timeout + options.ack_timeout)
            + options.alone_timeout
            + 3 * options.poll;
        let led = ring + 6 * options.election_timeout;
        let hop = options.hold + 4 * latency;
        // With keys, each of two processes drops the first message of the other process, which has not yet answered a
        // challenge.
        let proof_retries = if schedule.has_keys() { 2 } else { 0 };
        Self {
            calm: schedule.latest() + patience * options.database_timeout,
            silence,
            ring,
            led,
            token: led + silence + 2 * options.poll,
            round: count * hop,
            goes_on: (4 + proof_retries) * options.ack_timeout + 2 * count * hop,
        }
    }
}
