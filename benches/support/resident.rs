use std::fs;

use anyhow::{Context, Result};

/// Returns `VmRSS` of a process, in KiB.
pub(crate) fn resident(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .context("no resident memory")
}
