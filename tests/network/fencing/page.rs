//! The page that readers copy from.

use anyhow::{Context, Result};

const PAGE: &str = include_str!("../../../docs/fencing.md");

/// The `nth` block in a language below a heading of `docs/fencing.md`.
pub fn block(heading: &str, language: &str, nth: usize) -> Result<&'static str> {
    let heading = format!("\n## {heading}\n");
    let (_, below) = PAGE.split_once(&heading).with_context(|| heading.clone())?;
    let below = below.split("\n## ").next().unwrap_or(below);
    let fence = format!("```{language}\n");
    let rest = below.split(&fence).nth(nth + 1);
    let rest = rest.with_context(|| format!("no {language} below {heading}"))?;
    let (text, _) = rest.split_once("```").context("a block without an end")?;
    Ok(text)
}
