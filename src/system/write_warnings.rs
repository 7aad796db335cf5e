//! Logs a warning if the state file cannot be written.

use std::path::Path;
use std::time::Duration;

use ring_host::observe::RateLimit;
use ring_proto::time::Instant;
use tracing::warn;

use super::record_file::WriteFailures;
use crate::system::events;

const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Logs failed writes at a limited rate.
#[derive(Debug)]
pub(super) struct WriteWarnings {
    consequence: &'static str,
    failed_writes: u64,
    rate: RateLimit,
}

impl WriteWarnings {
    /// Creates warnings with a rate limit. `consequence` is a text: the effect of a state file that cannot be written.
    pub(super) const fn new(consequence: &'static str) -> Self {
        Self {
            consequence,
            failed_writes: 0,
            rate: RateLimit::new(1, WARNING_INTERVAL),
        }
    }

    /// Takes the failed writes of the state file at `path`, and logs them.
    pub(super) fn on_failures(&mut self, now: Instant, path: &Path, failed: Option<WriteFailures>) {
        let Some(failures) = failed else { return };
        self.failed_writes += failures.count;
        if self.rate.allow(now) {
            let count = std::mem::take(&mut self.failed_writes);
            let (path, last, consequence) = (path.display(), failures.last, self.consequence);
            warn!(
                event = events::STATE_NOT_WRITTEN,
                count, "cannot write {path} ({count} times): {last}; {consequence}"
            );
        }
    }
}
