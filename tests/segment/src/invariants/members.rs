//! The tables of live members become equal.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use pnet::util::MacAddr;

use crate::wire::{Digest, Seen};

/// Checks that the last digest of each of these nodes is the `expected` digest.
pub fn check_equal_digests(frames: &[Seen], alive: &[MacAddr], expected: Digest) -> Result<()> {
    let digests = frames
        .iter()
        .filter_map(|seen| Some((seen.author, seen.message.digest()?)));
    let last: HashMap<MacAddr, Digest> = digests.collect();
    for mac in alive {
        let digest = last
            .get(mac)
            .with_context(|| format!("{mac} has sent no digest"))?;
        ensure!(
            *digest == expected,
            "{mac} sends the digest {digest:x?} instead of {expected:x?}"
        );
    }
    Ok(())
}

#[cfg(test)]
#[path = "members_tests.rs"]
mod tests;
