//! The entries for operators: rows of the tables in `docs/operations/troubleshoot.md` and `docs/operations/troubles`.

use std::fs;
use std::path::{Path, PathBuf};

/// The first column of a table of entries.
const FIRST_COLUMN: &str = "| event or trouble |";

/// Returns the names of all events and troubles that have an entry. The first cell of an entry contains its names.
pub(super) fn entries() -> Vec<String> {
    let operations = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations");
    let files = fs::read_dir(operations.join("troubles")).expect("the folder is there");
    let mut files: Vec<PathBuf> = files
        .map(|file| file.expect("the folder can be listed").path())
        .collect();
    files.push(operations.join("troubleshoot.md"));
    let mut names = Vec::new();
    for file in files {
        let page = fs::read_to_string(file).expect("a page is text");
        let mut in_table = false;
        for line in page.lines() {
            in_table = line.starts_with(FIRST_COLUMN) || in_table && line.starts_with('|');
            if in_table {
                let cell = line.split('|').nth(1).unwrap_or_default();
                let quoted = cell.split('`').skip(1).step_by(2);
                names.extend(quoted.map(str::to_owned));
            }
        }
    }
    names
}
