//! The tables of live members become equal.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use pnet::util::MacAddr;

use crate::wire::{Digest, Seen};

/// Checks that the last digest that each of these nodes sent is the `expected` one.
pub fn check_equal_digests(frames: &[Seen], alive: &[MacAddr], expected: Digest) -> Result<()> {
    let told = frames
        .iter()
        .filter_map(|seen| Some((seen.author, seen.message.digest()?)));
    let last: HashMap<MacAddr, Digest> = told.collect();
    for mac in alive {
        let digest = last
            .get(mac)
            .with_context(|| format!("{mac} has told no digest"))?;
        ensure!(
            *digest == expected,
            "{mac} tells {digest:x?}, not {expected:x?}"
        );
    }
    Ok(())
}

#[cfg(test)]
#[path = "members_tests.rs"]
mod tests;
