//! The page that tells a run: one file, with its pictures inside.

mod histogram;
mod lanes;
mod page;
mod tables;
mod timeline;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::check::{Evidence, Verdict};

/// Writes the page into the folder of the run, beside all findings and samples as
/// `verdict.json`, and gives the page's path.
///
/// # Errors
/// If the file system refuses.
pub fn write(folder: &Path, evidence: &Evidence, verdict: &Verdict) -> Result<PathBuf> {
    let samples = folder.join("verdict.json");
    let text = serde_json::to_string_pretty(verdict).context("a verdict is JSON")?;
    fs::write(&samples, text).with_context(|| format!("cannot write {}", samples.display()))?;
    let path = folder.join("report.html");
    let text = page::page(evidence, verdict).into_string();
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
