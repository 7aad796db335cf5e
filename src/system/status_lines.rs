//! Logs the status on SIGUSR1.

use serde::Serialize;
use tracing::info;

use crate::system::events;

/// Logs the status. The first line has a field with the whole status as JSON.
pub(super) fn log(
    status: &impl Serialize,
    headline: &str,
    details: impl IntoIterator<Item = String>,
) {
    // Serializing cannot fail, because a status has only strings, numbers and maps with string keys.
    let json = serde_json::to_string(status).unwrap_or_default();
    info!(event = events::STATUS, status = json, "status: {headline}");
    for line in details {
        info!(event = events::STATUS_DETAIL, "status: {line}");
    }
}
