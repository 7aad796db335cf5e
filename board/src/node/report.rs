//! The status as a log line, in answer to SIGUSR1.

use tracing::info;

use super::status::Status;

/// Logs the status. A JSON log has all of it.
pub fn log(status: &Status) {
    // Strings, numbers and maps with string keys: nothing that JSON lacks.
    let json = serde_json::to_string(status).unwrap_or_default();
    let sentence = status.sentence();
    info!(event = "status", status = json, "status: {sentence}");
}
