//! Writes recordings as files for capture tools.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

use crate::clock;
use crate::wire::Seen;

/// Magic number of pcap files whose times are in nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
const LINK_TYPE_ETHERNET: u32 = 1;
const SNAP_LENGTH: u32 = 65_535;

/// Writes frames to a file in the classic pcap format.
pub(crate) fn write(path: &Path, frames: &[Seen]) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut out = BufWriter::new(file);
    out.write_all(&MAGIC.to_le_bytes())?;
    out.write_all(&[2, 0, 4, 0])?;
    for word in [0, 0, SNAP_LENGTH, LINK_TYPE_ETHERNET] {
        out.write_all(&u32::to_le_bytes(word))?;
    }
    for seen in frames {
        let at = clock::start() + seen.at;
        let length = u32::try_from(seen.bytes.len())?;
        // Seconds have 32 bits in this format.
        let seconds = u32::try_from(at.as_secs()).unwrap_or(u32::MAX);
        for word in [seconds, at.subsec_nanos(), length, length] {
            out.write_all(&word.to_le_bytes())?;
        }
        out.write_all(&seen.bytes)?;
    }
    out.flush()
        .with_context(|| format!("cannot write {}", path.display()))
}
