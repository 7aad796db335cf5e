//! Warnings about this machine, which a job of cron would repeat with each run.

use std::io::{self, Read, Seek, Write};
use std::path::Path;

use ring_process::owned;
use ring_runtime::clock;
use xxhash_rust::xxh3::xxh3_64;

use super::place::private;

/// Whether a warning is new since the machine started; it then counts as given. If that cannot be stored, it is new.
pub(super) fn is_new(daemon: Option<&Path>, warning: &str) -> bool {
    note(daemon, warning).unwrap_or(true)
}

fn note(daemon: Option<&Path>, warning: &str) -> io::Result<bool> {
    let (boot, _) = clock::of_boot()?;
    let Some(boot) = boot else {
        return Ok(true);
    };
    let path = private(daemon, "warned", xxh3_64(warning.as_bytes()))?;
    // The directory may outlive a start of the machine, and its owner may be another user.
    let mut file = owned::open(&path)?;
    let mut noted = String::new();
    file.read_to_string(&mut noted)?;
    if noted.lines().any(|line| line == boot) {
        return Ok(false);
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{boot}")?;
    Ok(true)
}
