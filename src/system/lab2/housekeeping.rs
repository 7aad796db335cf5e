//! Looks after a node's surroundings about once a second, and only when the loop is awake anyway.

use std::time::Duration;

use ring_proto::time::Instant;
use tracing::warn;

use super::attachment::Attachment;
use super::state_file::StateFile;
use crate::observe::RateLimit;

/// The time between two warnings of a state file that cannot be written.
const COMPLAINT: Duration = Duration::from_secs(60);

/// Logs what went wrong with the interface and the state file, at a limited rate.
#[derive(Debug)]
pub struct Housekeeping {
    kernel_drops: u64,
    unwritten: u64,
    complaints: RateLimit,
}

impl Housekeeping {
    /// Nothing logged yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            kernel_drops: 0,
            unwritten: 0,
            complaints: RateLimit::new(1, COMPLAINT),
        }
    }

    /// Looks around.
    pub fn tidy(&mut self, now: Instant, attachment: &mut Attachment, store: &mut StateFile) {
        self.look_at_drops(attachment.kernel_drops());
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
}
