//! The entries for operators: rows of the tables in `docs/operations/troubleshoot.md` and `docs/operations/troubles`.

use std::fs;
use std::path::{Path, PathBuf};

/// The first column of a table of entries.
const FIRST_COLUMN: &str = "| event or trouble |";

/// An entry for operators: a row of a table.
pub(super) struct Entry {
    /// Names of the events and troubles.
    pub names: Vec<String>,
    pub meaning: String,
    pub remedy: String,
}

/// Returns all entries, in the order of the files' names.
pub(super) fn entries() -> Vec<Entry> {
    let operations = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations");
    let files = fs::read_dir(operations.join("troubles")).expect("the folder is there");
    let mut files: Vec<PathBuf> = files
        .map(|file| file.expect("the folder can be listed").path())
        .collect();
    files.sort();
    files.push(operations.join("troubleshoot.md"));
    let mut entries = Vec::new();
    for file in files {
        let page = fs::read_to_string(file).expect("a page is text");
        let mut in_table = false;
        for line in page.lines() {
            in_table = line.starts_with(FIRST_COLUMN) || in_table && line.starts_with('|');
            if in_table {
                let cells: Vec<&str> = line.split(" | ").collect();
                let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
                let quoted = cell(0).split('`').skip(1).step_by(2);
                entries.push(Entry {
                    names: quoted.map(str::to_owned).collect(),
                    meaning: cell(1).to_owned(),
                    remedy: cell(2).trim_end_matches(" |").to_owned(),
                });
            }
        }
    }
    entries
}
