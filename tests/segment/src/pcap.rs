//! Writes recordings as files for capture tools.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::clock;

/// Magic number of pcap files whose times are in nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
const LINK_TYPE_ETHERNET: u32 = 1;
const SNAP_LENGTH: u32 = 65_535;

/// Writes frames to a file in the classic pcap format. The times are on the clock of [`crate::now`].
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write_pcap<'a>(
    path: &Path,
    frames: impl IntoIterator<Item = (Duration, &'a [u8])>,
) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut out = BufWriter::new(file);
    out.write_all(&MAGIC.to_le_bytes())?;
    out.write_all(&[2, 0, 4, 0])?;
    for word in [0, 0, SNAP_LENGTH, LINK_TYPE_ETHERNET] {
        out.write_all(&u32::to_le_bytes(word))?;
    }
    for (at, bytes) in frames {
        let at = clock::start() + at;
        let length = u32::try_from(bytes.len())?;
        // Seconds have 32 bits in this format.
        let seconds = u32::try_from(at.as_secs()).unwrap_or(u32::MAX);
        for word in [seconds, at.subsec_nanos(), length, length] {
            out.write_all(&word.to_le_bytes())?;
        }
        out.write_all(bytes)?;
    }
    out.flush()
        .with_context(|| format!("cannot write {}", path.display()))
}
