//! The middle of several times.

use std::time::Duration;

/// The median.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
