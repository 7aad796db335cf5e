//! Periodic checks of the loop. The checks run about once per second while the loop is awake, and rarely while it
//! sleeps.

use std::time::Duration;

use ring_proto::time::Instant;
use ring_text::format_duration;
use tracing::{Level, debug, warn};

use crate::observe::RateLimit;
use crate::observe::events;

const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The interval of checks while no other event wakes the loop.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// A log of the process's problems, at a limited rate.
#[derive(Debug)]
pub(crate) struct LoopHealth {
    last_check: Instant,
    lost_lines: usize,
    lost_holds: usize,
    late_limit: RateLimit,
    slightly_late_limit: RateLimit,
    late_times: u64,
}

impl LoopHealth {
    pub(crate) const fn new() -> Self {
        Self {
            last_check: Instant::from_nanos(0),
            lost_lines: 0,
            lost_holds: 0,
            late_limit: RateLimit::new(1, CHECK_INTERVAL),
            slightly_late_limit: RateLimit::new(1, CHECK_INTERVAL),
            late_times: 0,
        }
    }

    /// Records that the loop woke up `late` after its deadline. If `late` is longer than `limit`, peers act as if this
    /// process were dead. If `late` is much shorter than `limit`, there is no harm.
    pub(crate) fn on_late_wake_up(&mut self, now: Instant, late: Duration, limit: Duration) {
        self.late_times += 1;
        let level = level(late, limit);
        let rate = if level == Level::DEBUG {
            &mut self.slightly_late_limit
        } else {
            &mut self.late_limit
        };
        if !rate.allow(now) {
            return;
        }
        let (late_ns, times) = (ring_proto::time::nanos(late), self.late_times);
        let text = describe_lateness(late, times, limit);
        if level == Level::DEBUG {
            debug!(event = events::LATE_WAKE_UP, late_ns, times, "{text}");
        } else {
            warn!(event = events::LATE_WAKE_UP, late_ns, times, "{text}");
        }
    }

    /// Returns whether a check is due. If a check is due, sets the time of the next check.
    pub(crate) fn take_due_check(&mut self, now: Instant) -> bool {
        let is_due = now.since(self.last_check) >= CHECK_INTERVAL;
        if is_due {
            self.last_check = now;
        }
        is_due
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.last_check + IDLE_CHECK_INTERVAL
    }

    /// If the total number of lost log lines grew, logs the loss.
    pub(crate) fn report_lost_lines(&mut self, lost: usize) {
        let count = lost.saturating_sub(self.lost_lines);
        self.lost_lines = lost;
        if count > 0 {
            warn!(
                event = events::LOG_LINES_LOST,
                count, "{count} log lines were lost: standard output is too slow"
            );
        }
    }

    /// If the total number of lines that are missing in the files of holds grew, logs the loss.
    pub(crate) fn report_lost_holds(&mut self, lost: usize) {
        let count = lost.saturating_sub(self.lost_holds);
        self.lost_holds = lost;
        if count > 0 {
            warn!(
                event = events::HISTORY_NOT_WRITTEN,
                "cannot write {count} lines of the history of locks: the disk is too slow; ringctl history lacks them"
            );
        }
    }
}

/// Returns the log level of a late wake-up. The level is debug if `late` is less than a quarter of `limit`, and
/// otherwise warning. After `limit`, peers act as if this process were dead.
fn level(late: Duration, limit: Duration) -> Level {
    if late < limit / 4 {
        Level::DEBUG
    } else {
        Level::WARN
    }
}

fn describe_lateness(late: Duration, times: u64, limit: Duration) -> String {
    let (time, shown) = (ordinal(times), format_duration(late));
    if late < limit {
        let below = format_duration(limit);
        format!("woke up {shown} late, for the {time} time; a delay below {below} is harmless")
    } else {
        let limit = format_duration(limit);
        format!(
            "woke up {shown} late, for the {time} time; after {limit}, other members elect a new owner"
        )
    }
}

/// Returns `1st`, `2nd`, `11th` and so on.
fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (1, tens) if tens != 11 => "st",
        (2, tens) if tens != 12 => "nd",
        (3, tens) if tens != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::{describe_lateness, level, ordinal};
    use std::time::Duration;
    use tracing::Level;

    #[test]
    fn the_text_compares_lateness_with_the_harmful_limit() {
        let limit = Duration::from_millis(400);
        assert_eq!(
            describe_lateness(Duration::from_micros(5_500), 2, limit),
            "woke up 5.5 ms late, for the 2nd time; a delay below 400 ms is harmless"
        );
        assert_eq!(
            describe_lateness(Duration::from_millis(450), 3, limit),
            "woke up 450 ms late, for the 3rd time; after 400 ms, other members elect a new owner"
        );
    }

    #[test]
    fn below_a_quarter_of_the_limit_there_is_no_warning() {
        let limit = Duration::from_millis(400);
        let below = Duration::from_nanos(99_999_999);
        assert_eq!(level(below, limit), Level::DEBUG);
        for late in [limit / 4, limit / 2, limit, 2 * limit] {
            assert_eq!(level(late, limit), Level::WARN, "{late:?}");
        }
    }

    #[test]
    fn ordinals_are_english() {
        let ordinals = [1, 2, 3, 4, 11, 12, 13, 21, 112].map(ordinal);
        let expected = [
            "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th",
        ];
        assert_eq!(ordinals, expected);
    }
}
