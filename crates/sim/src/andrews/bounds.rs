//! How long what must happen in the end may take (`docs/board.md`, section 12).

use std::time::Duration;

use super::plan::Schedule;
use super::service::PATIENCE;

/// The bounds of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// What was on its way when the faults ended, to nodes and from the database, is there.
    pub calm: Duration,
    /// R.
    pub silence: Duration,
    /// S.
    pub ring: Duration,
    /// The largest is coordinator.
    pub led: Duration,
    /// One token.
    pub token: Duration,
    /// A round in which nothing is done.
    pub round: Duration,
    /// The token goes on after a crash.
    pub goes_on: Duration,
}

impl Bounds {
    /// Those of a schedule with so many nodes that live.
    pub(super) fn of(schedule: &Schedule, live: usize) -> Self {
        let options = schedule.options(0);
        let count = u32::try_from(live).unwrap_or(u32::MAX);
        let all = u32::try_from(schedule.ids.len()).unwrap_or(u32::MAX);
        let (least, more) = schedule.latency_us;
        let latency = Duration::from_micros(least + more);
        let patience = u32::try_from(PATIENCE).unwrap_or(u32::MAX);
        let silence = options.silence(schedule.ids.len());
        // What a claim, a removal or an insertion waits for: looks and writes, one after the other.
        let ring = 3 * silence
            + all * (options.connect_timeout + options.ack_timeout)
            + options.alone_timeout
            + 3 * options.poll;
        let led = ring + 6 * options.election_timeout;
        let hop = options.hold + 4 * latency;
        Self {
            calm: schedule.latest() + patience * options.database_timeout,
            silence,
            ring,
            led,
            token: led + silence + 2 * options.poll,
            round: count * hop,
            goes_on: 4 * options.ack_timeout + 2 * count * hop,
        }
    }
}
