//! Checks of the promises in `docs/reference/lab2/promises.md`. The checks use only captured frames.
//!
//! A capture for these checks begins when the ring starts, and contains only frames of real nodes. Remove frames that a
//! test forged.

mod identity;
mod members;
mod ownership;
mod tenures;

use anyhow::{Result, bail};

pub use identity::{TokenIdentities, check_identities};
pub use members::check_equal_digests;
pub use ownership::{Rival, check_one_owner, first_rival, owner_changes};
pub use tenures::{Tenure, check_fair_rotation, tenures};

use crate::wire::{Message, Seen};

/// Checks that the protocol allows a node to send each frame.
pub fn check_well_formed(frames: &[Seen]) -> Result<()> {
    for seen in frames {
        match &seen.message {
            Message::Invalid(why) => bail!("a node sent an invalid frame ({why}): {seen:?}"),
            Message::TakeToken { .. } if seen.is_broadcast() => {
                bail!("a node broadcast an offer: {seen:?}")
            }
            _ if seen.dst == seen.src => bail!("a node sent a frame to itself: {seen:?}"),
            _ => {}
        }
    }
    Ok(())
}

/// Checks the invariants that hold at any time and during any fault: frames are well-formed, and each identity names
/// one tenure.
pub fn check_all(frames: &[Seen]) -> Result<()> {
    check_well_formed(frames)?;
    check_identities(frames)
}

#[cfg(test)]
#[path = "test_frames.rs"]
mod test_frames;
