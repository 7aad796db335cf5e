//! What the loop looks after about once a second while it is awake anyway, and now and then while it is not.

use std::time::Duration;

use ring_proto::time::Instant;
use ring_text::format_duration;
use tracing::{Level, debug, warn};

use crate::observe::RateLimit;

/// The time between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// The same for a loop that nothing else wakes up.
const PERIOD_ASLEEP: Duration = Duration::from_secs(10);

/// Logs what went wrong with the process, at a limited rate.
#[derive(Debug)]
pub(crate) struct LoopHealth {
    last: Instant,
    lost_lines: usize,
    late: RateLimit,
    slightly_late: RateLimit,
    late_times: u64,
}

impl LoopHealth {
    /// Nothing to complain about yet.
    pub(crate) const fn new() -> Self {
        Self {
            last: Instant::from_nanos(0),
            lost_lines: 0,
            late: RateLimit::new(1, PERIOD),
            slightly_late: RateLimit::new(1, PERIOD),
            late_times: 0,
        }
    }

    /// The loop woke up `late` after its deadline. Beyond `limit` peers act as if this process were dead; far
    /// below it no harm is done.
    pub(crate) fn late(&mut self, now: Instant, late: Duration, limit: Duration) {
        self.late_times += 1;
        let level = level(late, limit);
        let rate = if level == Level::DEBUG {
            &mut self.slightly_late
        } else {
            &mut self.late
        };
        if !rate.allow(now) {
            return;
        }
        let (late_ns, times) = (ring_proto::time::nanos(late), self.late_times);
        let text = lateness(late, times, limit);
        if level == Level::DEBUG {
            debug!(event = "late_wake_up", late_ns, times, "{text}");
        } else {
            warn!(event = "late_wake_up", late_ns, times, "{text}");
        }
    }

    /// Whether it is time for the next look.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now.since(self.last) >= PERIOD;
        if is_due {
            self.last = now;
        }
        is_due
    }

    /// Returns when to look at the latest.
    pub(crate) fn deadline(&self) -> Instant {
        self.last + PERIOD_ASLEEP
    }

    /// Logs that log lines were lost, if `lost`, the count since the start, has grown.
    pub(crate) fn look_at_log(&mut self, lost: usize) {
        let count = lost.saturating_sub(self.lost_lines);
        self.lost_lines = lost;
        if count > 0 {
            warn!(
                event = "log_lines_lost",
                count, "{count} log lines lost: standard output is too slow"
            );
        }
    }
}

/// The level at which a wake-up that late is logged. Peers act as if this process were dead from `limit` on;
/// below a quarter of it nobody needs to know.
fn level(late: Duration, limit: Duration) -> Level {
    if late < limit / 4 {
        Level::DEBUG
    } else {
        Level::WARN
    }
}

fn lateness(late: Duration, times: u64, limit: Duration) -> String {
    let (time, shown) = (ordinal(times), format_duration(late));
    if late < limit {
        let below = format_duration(limit);
        format!("woke {shown} late ({time} time); harmless below {below}")
    } else {
        let limit = format_duration(limit);
        format!("woke {shown} late ({time} time); after {limit} others elect a new owner")
    }
}

/// `1st`, `2nd`, `11th`.
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
    use super::{lateness, level, ordinal};
    use std::time::Duration;
    use tracing::Level;

    #[test]
    fn lateness_is_measured_by_what_harms() {
        let limit = Duration::from_millis(400);
        assert_eq!(
            lateness(Duration::from_micros(5_500), 2, limit),
            "woke 5.5 ms late (2nd time); harmless below 400 ms"
        );
        assert_eq!(
            lateness(Duration::from_millis(450), 3, limit),
            "woke 450 ms late (3rd time); after 400 ms others elect a new owner"
        );
    }

    #[test]
    fn below_a_quarter_of_what_harms_nobody_is_warned() {
        let limit = Duration::from_millis(400);
        let below = Duration::from_nanos(99_999_999);
        assert_eq!(level(below, limit), Level::DEBUG);
        for late in [limit / 4, limit / 2, limit, 2 * limit] {
            assert_eq!(level(late, limit), Level::WARN, "{late:?}");
        }
    }

    #[test]
    fn times_are_counted_as_people_count() {
        let told = [1, 2, 3, 4, 11, 12, 13, 21, 112].map(ordinal);
        let expected = [
            "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th",
        ];
        assert_eq!(told, expected);
    }
}
