//! The status as a log line, in answer to SIGUSR1.

use tracing::info;

use super::status::Status;

/// Logs the status. A JSON log has all of it.
pub(super) fn log(status: &Status) {
    let (json, sentence) = (status.json(), status.sentence());
    info!(event = "status", status = json, "status: {sentence}");
}
