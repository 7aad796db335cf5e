//! Reads the files of daemons that do not log to the journal.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use ring_control::{NodeName, older_history_path};

use super::super::Error;
use super::record::Record;

/// Returns the records of one node or of all nodes. The newest record of each node comes first.
///
/// # Errors
/// Fails if a file cannot be read.
pub(super) fn read(directory: &Path, node: Option<&NodeName>) -> Result<Vec<Record>, Error> {
    let nodes = match node {
        Some(node) => vec![node.clone()],
        None => find_nodes(directory)?,
    };
    let mut records = Vec::new();
    for node in nodes {
        let newer = node.history_path(directory);
        let name = node.to_string();
        // The daemon may move the newer file between two reads, so the newer file is read first.
        for path in [&newer, &older_history_path(&newer)] {
            let Some(bytes) = found(path, fs::read(path))? else {
                continue;
            };
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.lines().rev();
            records.extend(lines.filter_map(|line| Record::from_file_line(&name, line)));
        }
    }
    Ok(records)
}

fn find_nodes(directory: &Path) -> Result<Vec<NodeName>, Error> {
    let Some(entries) = found(directory, fs::read_dir(directory))? else {
        return Ok(Vec::new());
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths
        .filter_map(|path| NodeName::from_history_path(&path))
        .collect())
}

/// Returns a result that was read at `path`; `None` if there is no file.
fn found<T>(path: &Path, result: io::Result<T>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::NoHistoryFile(path.to_owned(), error)),
    }
}
