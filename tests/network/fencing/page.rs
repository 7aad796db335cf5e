//! The page that readers copy from.

use anyhow::Result;

use crate::recipes::pages::{FENCING, block_below};

/// The `nth` block in a language below a heading of `docs/fencing.md`.
#[track_caller]
pub(super) fn block(heading: &str, language: &str, nth: usize) -> Result<&'static str> {
    block_below(FENCING, heading, language, nth)
}
