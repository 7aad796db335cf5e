//! What is looked after about once a second, and only when the loop is awake anyway.

use std::time::Duration;

use ring_proto::time::Instant;
use tracing::{debug, warn};

use super::attachment::Attachment;
use super::spoken;
use super::state_file::StateFile;
use crate::observe::{LogOutput, RateLimit};

/// How often it is looked whether there is something to say.
const PERIOD: Duration = Duration::from_secs(1);
/// How often a state file that cannot be written is complained about.
const COMPLAINT: Duration = Duration::from_secs(60);

/// Says what went wrong in the surroundings, and not too often.
#[derive(Debug)]
pub struct Housekeeping {
    last: Instant,
    kernel_drops: u64,
    unwritten: u64,
    lost_lines: usize,
    complaints: RateLimit,
    late: RateLimit,
    slightly_late: RateLimit,
    late_times: u64,
}

impl Housekeeping {
    /// Nothing to complain about yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            last: Instant::from_nanos(0),
            kernel_drops: 0,
            unwritten: 0,
            lost_lines: 0,
            complaints: RateLimit::new(1, COMPLAINT),
            late: RateLimit::new(1, PERIOD),
            slightly_late: RateLimit::new(1, PERIOD),
            late_times: 0,
        }
    }

    /// The loop woke up `late` after the time that it was to wake up at. Past `limit` the others elect
    /// a new owner; what is far below harms nobody.
    pub fn late(&mut self, now: Instant, late: Duration, limit: Duration) {
        self.late_times += 1;
        let is_harmless = late < limit / 4;
        let rate = if is_harmless {
            &mut self.slightly_late
        } else {
            &mut self.late
        };
        if !rate.allow(now) {
            return;
        }
        let (late_ns, times) = (ring_proto::time::nanos(late), self.late_times);
        let text = lateness(late, times, limit);
        if is_harmless {
            debug!(event = "late_wake_up", late_ns, times, "{text}");
        } else {
            warn!(event = "late_wake_up", late_ns, times, "{text}");
        }
    }

    /// Looks around if it is time; whether it was.
    pub fn tidy(
        &mut self,
        now: Instant,
        attachment: &mut Attachment,
        store: &mut StateFile,
        log: &LogOutput,
    ) -> bool {
        if now.since(self.last) < PERIOD {
            return false;
        }
        self.last = now;
        self.look_at_drops(attachment.kernel_drops());
        self.look_at_log(log.lost_lines());
        if let Some(failures) = store.take_failures() {
            self.unwritten += failures.count;
            if self.complaints.allow(now) {
                let count = std::mem::take(&mut self.unwritten);
                warn!(
                    event = "state_not_written",
                    count,
                    "cannot write {}, {count} times: {}; the ring goes on without \
                     this node, which owns nothing until it can write again",
                    store.path().display(),
                    failures.last
                );
            }
        }
        true
    }

    fn look_at_drops(&mut self, drops: u64) {
        let count = drops.saturating_sub(self.kernel_drops);
        self.kernel_drops = drops;
        if count > 0 {
            warn!(
                event = "kernel_dropped",
                count, "the kernel dropped {count} frames: they came faster than ringd reads"
            );
        }
    }

    fn look_at_log(&mut self, lost: usize) {
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

fn lateness(late: Duration, times: u64, limit: Duration) -> String {
    let (time, shown) = (ordinal(times), spoken(late));
    if late < limit {
        let below = spoken(limit);
        format!("woke {shown} late ({time} time); harmless below {below}")
    } else {
        let limit = spoken(limit);
        format!("woke {shown} late ({time} time); from {limit} on the others elect a new owner")
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
    use super::{lateness, ordinal};
    use std::time::Duration;

    #[test]
    fn lateness_is_measured_by_what_harms() {
        let limit = Duration::from_millis(400);
        assert_eq!(
            lateness(Duration::from_micros(5_500), 2, limit),
            "woke 5.5 ms late (2nd time); harmless below 400 ms"
        );
        assert_eq!(
            lateness(Duration::from_millis(450), 3, limit),
            "woke 450 ms late (3rd time); from 400 ms on the others elect a new owner"
        );
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
