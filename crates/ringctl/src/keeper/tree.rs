//! The text for a process that the keeper cannot end.

use std::fs;

pub(crate) use ring_process::{Killed, Survivor, Tree};

pub(crate) fn survivor_text(survivor: Survivor) -> String {
    let what = survivor.0.map_or_else(
        || "a process of the command".to_owned(),
        |pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("process {pid} ({})", name.trim_end().escape_debug())
        },
    );
    format!(
        "cannot end {what}, which runs as another user and continues; run ringctl as that user: \
         sudo ringctl run -- CMD, not ringctl run -- sudo CMD"
    )
}
