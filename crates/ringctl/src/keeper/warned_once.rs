//! Warnings about this machine that are printed only once per boot. Otherwise, a cron job would print these warnings at
//! every run.

use std::io::{self, Read, Seek, Write};
use std::path::Path;

use ring_process::private_files;
use ring_runtime::clock;
use xxhash_rust::xxh3::xxh3_64;

use super::private_path::private_path;

/// Records a warning. Returns whether to print the warning. A warning should be printed if it was not recorded after
/// the boot, or if it cannot be recorded.
pub(super) fn record_warning(daemon: Option<&Path>, warning: &str) -> bool {
    try_record(daemon, warning).unwrap_or(true)
}

fn try_record(daemon: Option<&Path>, warning: &str) -> io::Result<bool> {
    let (boot, _) = clock::boot_clock_offset()?;
    let Some(boot) = boot else {
        return Ok(true);
    };
    let path = private_path(daemon, "warned", xxh3_64(warning.as_bytes()))?;
    // The file contains the id of the boot, because it may survive a reboot. It is opened as a private file, because
    // the directory may belong to another user.
    let mut file = private_files::open(&path)?;
    let mut recorded = String::new();
    file.read_to_string(&mut recorded)?;
    if recorded.lines().any(|line| line == boot) {
        return Ok(false);
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{boot}")?;
    Ok(true)
}
