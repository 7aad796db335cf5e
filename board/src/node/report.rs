//! The status as a log line, for SIGUSR1.

use tracing::info;

use super::status::Status;
use crate::events;

/// Logs the status as a sentence. A JSON log also contains all keys of the status.
pub(super) fn log(status: &Status) {
    let (json, sentence) = (status.json(), status.sentence());
    info!(event = events::STATUS, status = json, "status: {sentence}");
}
