//! Reads the files of daemons that do not log to the journal.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ring_control::{NodeName, older_history_path};

use super::super::Error;
use super::record::Record;

/// The records of the files of holds.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// One list of records per file, which includes the records of the file's older generation. The newest record comes
    /// first.
    pub records: Vec<Vec<Record>>,
    /// The first error. It does not stop the search, because this user may have the permission to read other files.
    pub error: Option<Error>,
}

/// Reads the files of one node or of all nodes.
pub(super) fn read(directory: &Path, node: Option<&NodeName>) -> Found {
    let mut found = Found::default();
    let nodes = match node {
        Some(node) => BTreeSet::from([node.clone()]),
        None => match if_exists(fs::read_dir(directory)) {
            Ok(entries) => {
                let entries = entries.into_iter().flatten();
                let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
                paths
                    .filter_map(|path| NodeName::from_history_path(&path))
                    .collect()
            }
            Err(error) => {
                found.error = Some(Error::NoHistoryFile(directory.to_owned(), error));
                BTreeSet::new()
            }
        },
    };
    for node in nodes {
        for path in node.history_paths(directory) {
            match read_generations(&path) {
                Ok(texts) => {
                    let name = node.to_string();
                    let lines = texts.iter().flat_map(|text| text.lines().rev());
                    let records = lines.filter_map(|line| Record::from_file_line(&name, line));
                    found.records.push(records.collect());
                }
                Err(error) => {
                    let error = Error::NoHistoryFile(path, error);
                    found.error.get_or_insert(error);
                }
            }
        }
    }
    found
}

/// Returns the texts of the newer file and of the older file. A missing file has no text.
fn read_generations(newer: &Path) -> io::Result<Vec<String>> {
    let files = open_generations(newer)?;
    let texts = files.into_iter().map(|mut file| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    });
    texts.collect()
}

/// Opens both generations. If the daemon renames the newer file in the meantime, opens both files again.
fn open_generations(newer: &Path) -> io::Result<Vec<File>> {
    loop {
        let new = if_exists(File::open(newer))?;
        let old = if_exists(File::open(older_history_path(newer)))?;
        let opened = new.as_ref().map(File::metadata).transpose()?;
        let current = if_exists(fs::metadata(newer))?;
        let [opened, current] = [opened, current].map(|it| it.map(|it| (it.dev(), it.ino())));
        if opened == current {
            return Ok([new, old].into_iter().flatten().collect());
        }
    }
}

/// Returns `None` if a file does not exist.
fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::read;

    fn line(label: &str) -> String {
        format!("{{\"time_ms\":7,\"event\":\"lock_granted\",\"label\":\"{label}\"}}\n")
    }

    #[test]
    fn all_generations_of_all_nodes_are_read_with_the_newest_line_first() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, labels: &[&str]| {
            let lines: String = labels.iter().map(|it| line(it)).collect();
            fs::write(directory.path().join(name), lines).unwrap();
        };
        write("eth0.history", &["c", "d"]);
        write("eth0.history.1", &["a", "b"]);
        write("eth0.member-history", &["m"]);
        // This daemon has not yet created a newer file after the rename.
        write("eth1.history.1", &["x"]);
        write("eth2.state", &["s"]);
        let found = read(directory.path(), None);
        assert!(found.error.is_none(), "{:?}", found.error);
        let labels: Vec<String> = found
            .records
            .iter()
            .filter(|records| !records.is_empty())
            .map(|records| {
                let labels = records
                    .iter()
                    .map(|it| format!("{} {}", it.node, it.label.as_deref().unwrap()));
                labels.collect::<Vec<_>>().join(", ")
            })
            .collect();
        let expected = ["eth0 d, eth0 c, eth0 b, eth0 a", "eth0 m", "eth1 x"];
        assert_eq!(labels, expected);
    }

    #[test]
    fn an_unreadable_file_does_not_hide_other_files() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("eth0.history")).unwrap();
        fs::write(directory.path().join("eth1.history"), line("x")).unwrap();
        let found = read(directory.path(), None);
        assert!(found.error.is_some());
        assert_eq!(found.records.concat().len(), 1);
        let missing = read(&directory.path().join("missing"), None);
        assert!(missing.error.is_none() && missing.records.is_empty());
    }
}
