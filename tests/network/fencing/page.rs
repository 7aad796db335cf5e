//! The page `docs/how-to/fencing.md`.

use anyhow::Result;

use crate::recipes::pages::{FENCING, block_below};

/// Returns the `nth` code block in this language below a heading.
#[track_caller]
pub(super) fn block(heading: &str, language: &str, nth: usize) -> Result<&'static str> {
    block_below(FENCING, heading, language, nth)
}
