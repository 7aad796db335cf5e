//! Logs the status on SIGUSR1.

use serde::Serialize;
use tracing::info;

/// Logs the status. The first line has the whole status as JSON in a field.
pub(super) fn log(
    status: &impl Serialize,
    headline: &str,
    details: impl IntoIterator<Item = String>,
) {
    // Only strings, numbers and maps with string keys, so this cannot fail.
    let json = serde_json::to_string(status).unwrap_or_default();
    info!(event = "status", status = json, "status: {headline}");
    for line in details {
        info!(event = "status_detail", "status: {line}");
    }
}
