//! A file that stays open while a node runs, even if its path is removed or replaced.
//!
//! Writes to a removed file succeed, but a restart does not find the written data. So the daemon checks the path
//! periodically. While the path leads to a different file or to no file, all writes fail.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ring_process::private_files;
use rustix::fs::{FlockOperation, flock};
use tracing::{info, warn};

use crate::system::events;

/// An open file, and its path.
#[derive(Debug)]
pub(super) struct PlacedFile {
    file: File,
    path: PathBuf,
    /// A description of the problem; `None` if the path leads to the file.
    missing: Option<String>,
}

impl Drop for PlacedFile {
    /// Unlocks the file, if it is locked. Closing the file would not be enough, because a child has a copy of the
    /// descriptor between fork and exec.
    fn drop(&mut self) {
        // Errors are ignored: the child will close its copy soon.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl PlacedFile {
    /// Opens the file at `path`. If the file is missing, creates it. Also returns whether the file was created.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or belongs to another user.
    pub(super) fn open(path: PathBuf) -> io::Result<(Self, bool)> {
        let (file, is_new) = private_files::open_or_make(&path)?;
        let placed = Self {
            file,
            path,
            missing: None,
        };
        Ok((placed, is_new))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file, even if it is not in its place.
    pub(super) const fn file(&self) -> &File {
        &self.file
    }

    /// Returns the file for writing.
    ///
    /// # Errors
    /// Fails if the file was not in its place at the last check.
    pub(super) fn writable(&self) -> io::Result<&File> {
        match &self.missing {
            None => Ok(&self.file),
            Some(why) => Err(io::Error::new(io::ErrorKind::NotFound, why.clone())),
        }
    }

    /// Returns a description of the problem if the file was not in its place at the last check.
    pub(super) fn problem(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Checks that the path leads to the file. If the path does not lead to the file and the directory exists, creates
    /// the file again. After the file is created again, `restore` writes the whole contents. Returns the result of
    /// `restore`.
    pub(super) fn check_place<T>(
        &mut self,
        restore: impl FnOnce(&File) -> io::Result<T>,
    ) -> Option<T> {
        if matches!(private_files::is_at(&self.file, &self.path), Ok(true)) {
            if self.missing.take().is_some() {
                info!(
                    event = events::STATE_RESTORED,
                    "{} is in its place again",
                    self.path.display()
                );
            }
            return None;
        }
        let replaced = private_files::open(&self.path).and_then(|file| {
            let restored = restore(&file)?;
            Ok((file, restored))
        });
        let path = self.path.display();
        match replaced {
            Ok((file, restored)) => {
                self.file = file;
                self.missing = None;
                info!(event = events::STATE_RESTORED, "{path} was made again");
                Some(restored)
            }
            Err(error) => {
                let text = format!(
                    "{path} was removed or replaced, and cannot be made again: {error}; create its directory again and \
                     restart ringd, or restart ringd with another --state-dir DIR"
                );
                if self.missing.as_ref() != Some(&text) {
                    warn!(event = events::STATE_REMOVED, "{text}");
                }
                self.missing = Some(text);
                None
            }
        }
    }

    /// Makes all later writes fail.
    #[cfg(test)]
    pub(super) fn forbid_writes(&mut self) {
        self.file = File::open(&self.path).expect("it can be read");
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{self, Write};

    use super::PlacedFile;

    fn restore(mut file: &File) -> io::Result<()> {
        file.write_all(b"all")
    }

    #[test]
    fn a_file_in_its_place_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        let (mut placed, is_new) = PlacedFile::open(path.clone()).unwrap();
        assert!(is_new && placed.check_place(restore).is_none());
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert!(!PlacedFile::open(path).unwrap().1, "it is there already");
    }

    #[test]
    fn a_removed_file_is_made_again_once_its_directory_exists() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("place");
        fs::create_dir(&place).unwrap();
        let path = place.join("state");
        let (mut placed, _) = PlacedFile::open(path.clone()).unwrap();
        fs::remove_dir_all(&place).unwrap();
        for _ in 0..2 {
            assert!(placed.check_place(restore).is_none());
            assert!(placed.writable().is_err());
            let why = placed.problem().expect("it is missing");
            assert!(why.contains("place/state was removed"), "{why}");
        }
        fs::create_dir(&place).unwrap();
        assert!(placed.check_place(restore).is_some());
        assert!(placed.writable().is_ok() && placed.problem().is_none());
        assert_eq!(fs::read(&path).unwrap(), b"all");
    }

    #[test]
    fn a_file_that_was_moved_away_and_back_is_writable() {
        let directory = tempfile::tempdir().unwrap();
        let [place, away] = ["place", "away"].map(|name| directory.path().join(name));
        fs::create_dir(&place).unwrap();
        let (mut placed, _) = PlacedFile::open(place.join("state")).unwrap();
        fs::rename(&place, &away).unwrap();
        assert!(placed.check_place(restore).is_none() && placed.writable().is_err());
        fs::rename(&away, &place).unwrap();
        assert!(placed.check_place(restore).is_none() && placed.writable().is_ok());
    }

    #[test]
    fn a_file_that_replaced_it_and_cannot_be_used_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        let (mut placed, _) = PlacedFile::open(path.clone()).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        let refused = placed.check_place(|_| Err::<(), _>(io::Error::other("it is another's")));
        assert!(refused.is_none());
        let why = placed.problem().expect("it is replaced");
        assert!(why.contains("it is another's"), "{why}");
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }
}
