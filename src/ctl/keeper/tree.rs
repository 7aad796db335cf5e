//! What the keeper calls a command's processes, and says of those that it cannot end.

use std::fs;

pub(in crate::ctl) use crate::sys::{Killed, Survivor, Tree};

impl Tree {
    /// A place for a command that is not there yet.
    pub(super) fn new() -> Self {
        Self::in_cgroup("ringctl")
    }
}

/// What is to be said of a process that may not be ended.
pub(in crate::ctl) fn out_of_reach(survivor: Survivor) -> String {
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
