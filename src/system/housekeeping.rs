//! Looks after a node's surroundings about once a second, and only when the loop is awake anyway.

use std::path::Path;
use std::time::Duration;

use ring_proto::time::Instant;
use tracing::{info, warn};

use super::record_file::WriteFailures;
use crate::host::Pace;
use crate::observe::RateLimit;
use crate::sys::clock;

/// The time between two warnings of a state file that cannot be written.
const COMPLAINT: Duration = Duration::from_secs(60);

/// Logs what went wrong with the link, the state file and the clock, at a limited rate.
#[derive(Debug)]
pub struct Housekeeping {
    messages: &'static str,
    consequence: &'static str,
    kernel_drops: u64,
    unwritten: u64,
    complaints: RateLimit,
    pace: Pace,
}

/// The rate of this machine's clock has become wrong, or is right again: the event's name, and a sentence.
#[derive(Debug)]
pub struct PaceNews {
    /// The event.
    pub event: &'static str,
    /// What has happened, and what to do.
    pub text: String,
}

impl Housekeeping {
    /// Nothing logged yet. `messages` is what the link carries, `consequence` what follows for a node that cannot
    /// write its state file.
    #[must_use]
    pub fn new(messages: &'static str, consequence: &'static str) -> Self {
        Self {
            messages,
            consequence,
            kernel_drops: 0,
            unwritten: 0,
            complaints: RateLimit::new(1, COMPLAINT),
            pace: Pace::default(),
        }
    }

    /// Looks at how many messages the kernel has `dropped`, all told.
    pub fn look_at_drops(&mut self, dropped: u64) {
        let count = dropped.saturating_sub(self.kernel_drops);
        self.kernel_drops = dropped;
        let messages = self.messages;
        if count > 0 {
            warn!(
                event = "kernel_dropped",
                count, "the kernel dropped {count} {messages}: they came faster than ringd reads"
            );
        }
    }

    /// Looks at the writes to the state file at `path` that have failed, if any have.
    pub fn look_at_writes(&mut self, now: Instant, path: &Path, failed: Option<WriteFailures>) {
        let Some(failures) = failed else { return };
        self.unwritten += failures.count;
        if self.complaints.allow(now) {
            let count = std::mem::take(&mut self.unwritten);
            let (path, last, consequence) = (path.display(), failures.last, self.consequence);
            warn!(
                event = "state_not_written",
                count, "cannot write {path}, {count} times: {last}; {consequence}"
            );
        }
    }

    /// Checks the rate of the clock. Returns whether that has become wrong, or right again.
    pub fn look_at_pace(&mut self) -> Option<PaceNews> {
        let (clock, counter) = clock::rates()?;
        if !self.pace.look(clock, counter) {
            return None;
        }
        Some(if let Some(text) = self.pace.trouble() {
            let event = "clock_rate";
            warn!(event, "{text}");
            PaceNews { event, text }
        } else {
            let event = "clock_rate_right";
            let text = "this machine's clock runs at its right rate again".to_owned();
            info!(event, "{text}");
            PaceNews { event, text }
        })
    }

    /// What is wrong with the rate of the clock, and what to do; `None`: nothing.
    #[must_use]
    pub fn clock_trouble(&self) -> Option<String> {
        self.pace.trouble()
    }
}
