//! The status as log lines, in answer to SIGUSR1.

use serde::Serialize;
use tracing::info;

/// Logs the status. A JSON log has all of it in the first line.
pub(super) fn log(
    status: &impl Serialize,
    headline: &str,
    details: impl IntoIterator<Item = String>,
) {
    // Strings, numbers and maps with string keys: nothing that JSON lacks.
    let json = serde_json::to_string(status).unwrap_or_default();
    info!(event = "status", status = json, "status: {headline}");
    for line in details {
        info!(event = "status_detail", "status: {line}");
    }
}
