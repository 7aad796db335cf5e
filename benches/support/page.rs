use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Replaces the tables of a benchmark in a page of `docs`.
pub(crate) fn update(tables: &str, bench: &str, page: &Path) -> Result<()> {
    let text = with_tables(tables, bench, page)?;
    fs::write(page, text).with_context(|| format!("cannot write {}", page.display()))
}

/// Returns the text of a page in which the tables of a benchmark are replaced.
pub(crate) fn with_tables(tables: &str, bench: &str, page: &Path) -> Result<String> {
    let text =
        fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let begin = format!("<!-- made by benches/{bench}: begin -->\n");
    let end = format!("<!-- made by benches/{bench}: end -->");
    let (before, rest) = text
        .split_once(&begin)
        .context("the page has no mark for the tables")?;
    let (_, after) = rest
        .split_once(&end)
        .context("the mark for the tables has no end")?;
    Ok([before, &begin, "\n", tables, "\n", &end, after].concat())
}

/// Formats a number with separators: 12345 becomes 12,345.
pub(crate) fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
