//! The place of a command's processes, and the message about those that the keeper cannot end.

use std::fs;

pub(crate) use ring_process::{Killed, Survivor, Tree};

/// Returns the message about a process that may not be killed.
pub(crate) fn out_of_reach(survivor: Survivor) -> String {
    let what = survivor.0.map_or_else(
        || "a process of the command".to_owned(),
        |pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("process {pid} ({})", name.trim_end().escape_debug())
        },
    );
    format!(
        "{what} cannot be ended, since it runs as another user: it works on. Let ringctl be \
         that user too: sudo ringctl run -- CMD, not ringctl run -- sudo CMD"
    )
}
