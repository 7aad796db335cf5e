//! The files of holds, on machines without systemd's journal. Each file has two generations, a newer one and an older
//! one. Each generation has a bounded size.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use ring_control::hold_history::{MEMBER_HELD, MEMBER_HOLDS, STARTED};
use ring_control::older_history_path;
use ring_process::private_files;
use serde::Deserialize;
use tracing::warn;

use crate::observe::events;

/// Maximum size of each generation in bytes. A hold has about 500 bytes.
const GENERATION_LEN_MAX: u64 = 1 << 20;

/// The newer generation of the file. The thread of the history writes one line at a time.
struct HoldFile {
    path: PathBuf,
    /// The open file and its length; `None` before the first line and after an error.
    open: Option<(File, u64)>,
}

impl HoldFile {
    const fn new(path: PathBuf) -> Self {
        Self { path, open: None }
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let len = line.len() as u64;
        let mut current = self.open.take();
        // An operator may have removed the file.
        current =
            current.filter(|(file, _)| private_files::is_at(file, &self.path).is_ok_and(|it| it));
        let (mut file, mut old_len) = match current {
            Some(current) => current,
            None => self.open_at_end()?,
        };
        if old_len + len > GENERATION_LEN_MAX {
            drop(file);
            fs::rename(&self.path, older_history_path(&self.path))?;
            (file, old_len) = self.open_at_end()?;
        }
        file.write_all(line)?;
        self.open = Some((file, old_len + len));
        Ok(())
    }

    fn append_or_warn(&mut self, line: &[u8]) {
        if let Err(error) = self.append(line) {
            let path = self.path.display();
            warn!(
                event = events::HISTORY_NOT_WRITTEN,
                "cannot write the history of locks to {path}: {error}; ringctl history lacks a line, ringd tries again \
                 with the next line"
            );
        }
    }

    /// Opens the file, and returns its length. A crash may have left the last line incomplete, so this function ends
    /// this line.
    fn open_at_end(&self) -> io::Result<(File, u64)> {
        let mut file = private_files::open(&self.path)?;
        let len = file.seek(SeekFrom::End(0))?;
        if len == 0 {
            return Ok((file, 0));
        }
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last == *b"\n" {
            return Ok((file, len));
        }
        file.write_all(b"\n")?;
        Ok((file, len + 1))
    }
}

/// Both files of holds. Holds of other machines are in a separate file, so that a busy ring does not displace the holds
/// of this machine.
pub(super) struct HoldFiles {
    own: HoldFile,
    of_members: HoldFile,
}

impl HoldFiles {
    pub(super) fn new(paths: [PathBuf; 2]) -> Self {
        let [own, of_members] = paths.map(HoldFile::new);
        Self { own, of_members }
    }
}

/// The field of a line that decides in which file the line is stored.
#[derive(Deserialize)]
struct LineEvent<'a> {
    event: &'a str,
}

impl Write for HoldFiles {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let event = serde_json::from_slice(line).map_or("", |line: LineEvent<'_>| line.event);
        let is_of_member = matches!(event, MEMBER_HOLDS | MEMBER_HELD);
        if !is_of_member {
            self.own.append_or_warn(line);
        }
        // A start of the daemon ends the holds in both files, so both files get this line.
        if is_of_member || event == STARTED {
            self.of_members.append_or_warn(line);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::{GENERATION_LEN_MAX, HoldFile, HoldFiles};
    use ring_control::{NodeName, older_history_path};

    #[test]
    fn a_torn_line_is_ended_and_a_removed_file_is_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.history");
        fs::write(&path, "whole\ntor").unwrap();
        let mut file = HoldFile::new(path.clone());
        file.append_or_warn(b"next\n");
        file.append_or_warn(b"last\n");
        assert_eq!(fs::read(&path).unwrap(), b"whole\ntor\nnext\nlast\n");
        fs::remove_file(&path).unwrap();
        file.append_or_warn(b"new\n");
        assert_eq!(fs::read(&path).unwrap(), b"new\n");
    }

    #[test]
    fn two_generations_of_bounded_size_have_the_newest_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.history");
        let mut file = HoldFile::new(path.clone());
        let lines = 5 * GENERATION_LEN_MAX / 1_000;
        for number in 0..lines {
            file.append_or_warn(format!("{number:0999}\n").as_bytes());
        }
        let read = |path| fs::read_to_string(path).unwrap();
        let (older, newer) = (read(older_history_path(&path)), read(path));
        assert!(
            older.len() as u64 <= GENERATION_LEN_MAX && newer.len() as u64 <= GENERATION_LEN_MAX
        );
        let numbers: Vec<u64> = (older + &newer)
            .lines()
            .map(|it| it.parse().unwrap())
            .collect();
        assert!(numbers.is_sorted() && numbers.len() as u64 > GENERATION_LEN_MAX / 1_000);
        assert_eq!(numbers.last(), Some(&(lines - 1)));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_that_cannot_be_written_loses_only_its_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/eth0.history");
        let mut file = HoldFile::new(path.clone());
        file.append_or_warn(b"lost\n");
        fs::create_dir(path.parent().unwrap()).unwrap();
        file.append_or_warn(b"kept\n");
        assert_eq!(fs::read(&path).unwrap(), b"kept\n");
    }

    #[test]
    fn holds_of_other_machines_have_their_own_file() {
        let directory = tempfile::tempdir().unwrap();
        let paths = NodeName::new("eth0").history_paths(directory.path());
        let mut files = HoldFiles::new(paths.clone());
        let line = |event: &str| format!("{{\"event\":\"{event}\"}}\n");
        let [started, granted, other] = ["started", "lock_granted", "member_holds"].map(line);
        for line in [&started, &granted, &other] {
            files.write_all(line.as_bytes()).unwrap();
        }
        let texts = paths.map(|path| fs::read_to_string(path).unwrap());
        assert_eq!(texts, [started.clone() + &granted, started + &other]);
    }
}
