//! Warns of a state file that cannot be written.

use std::path::Path;
use std::time::Duration;

use ring_host::observe::RateLimit;
use ring_proto::time::Instant;
use tracing::warn;

use super::record_file::WriteFailures;

/// The time between two warnings.
const PAUSE: Duration = Duration::from_secs(60);

/// Warns at a limited rate.
#[derive(Debug)]
pub(super) struct WriteWarnings {
    consequence: &'static str,
    unwritten: u64,
    rate: RateLimit,
}

impl WriteWarnings {
    /// No warning yet. `consequence` is what follows for a node that cannot write its state file.
    pub(super) const fn new(consequence: &'static str) -> Self {
        Self {
            consequence,
            unwritten: 0,
            rate: RateLimit::new(1, PAUSE),
        }
    }

    /// Looks at the writes to the state file at `path` that have failed, if any have.
    pub(super) fn look(&mut self, now: Instant, path: &Path, failed: Option<WriteFailures>) {
        let Some(failures) = failed else { return };
        self.unwritten += failures.count;
        if self.rate.allow(now) {
            let count = std::mem::take(&mut self.unwritten);
            let (path, last, consequence) = (path.display(), failures.last, self.consequence);
            warn!(
                event = "state_not_written",
                count, "cannot write {path}, {count} times: {last}; {consequence}"
            );
        }
    }
}
