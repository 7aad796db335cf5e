//! What is looked after about once a second, and only when the loop is awake anyway.

use std::time::Duration;

use tracing::warn;

use super::attachment::Attachment;
use super::state_file::StateFile;
use crate::observe::{LogOutput, RateLimit};
use crate::proto::time::Instant;

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
        }
    }

    /// The loop woke up `late` after the time that it was to wake up at.
    pub fn late(&mut self, now: Instant, late: Duration) {
        if self.late.allow(now) {
            let late_ns = crate::proto::time::nanos(late);
            let more = match self.late.take_refused() {
                0 => String::new(),
                more => format!(", and {more} times before"),
            };
            warn!(
                event = "late_wake_up",
                late_ns,
                "{late:.1?} late{more}: this machine is overloaded, or the process was stopped"
            );
        }
    }

    /// Looks around if it is time.
    pub fn tidy(
        &mut self,
        now: Instant,
        attachment: &mut Attachment,
        store: &mut StateFile,
        log: &LogOutput,
    ) {
        if now.since(self.last) < PERIOD {
            return;
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
                    "{} could not be written, {count} times: {}; the ring goes on, but a restart \
                     will not know the last token",
                    store.path().display(),
                    failures.last
                );
            }
        }
    }

    fn look_at_drops(&mut self, drops: u64) {
        let count = drops.saturating_sub(self.kernel_drops);
        self.kernel_drops = drops;
        if count > 0 {
            warn!(
                event = "kernel_dropped",
                count,
                "the kernel dropped {count} frames: they came faster than they could be taken"
            );
        }
    }

    fn look_at_log(&mut self, lost: usize) {
        let count = lost.saturating_sub(self.lost_lines);
        self.lost_lines = lost;
        if count > 0 {
            warn!(
                event = "log_lines_lost",
                count, "{count} log lines were lost: the output does not take them fast enough"
            );
        }
    }
}
