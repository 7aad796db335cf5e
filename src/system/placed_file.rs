//! A file that stays open for as long as a node runs, while others may take it away from its place.
//!
//! Writes to a file that was removed succeed, and a restart finds nothing of them. So its place is looked at
//! now and then; while another file, or none, is there, the node counts as one that cannot store.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ring_process::owned;
use rustix::fs::{FlockOperation, flock};
use tracing::{info, warn};

/// An open file, and its place.
#[derive(Debug)]
pub(super) struct PlacedFile {
    file: File,
    path: PathBuf,
    /// Why the file is not in its place, as a sentence.
    missing: Option<String>,
}

impl Drop for PlacedFile {
    /// Ends the lock of the file, if it has one. Between fork and exec a child has a copy of the descriptor, so closing the file
    /// here would not end the lock.
    fn drop(&mut self) {
        // The child will close its copy.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl PlacedFile {
    /// Opens the file at `path`, or makes it. Returns whether it was made.
    ///
    /// # Errors
    /// It cannot be opened, or is another user's.
    pub(super) fn open(path: PathBuf) -> io::Result<(Self, bool)> {
        let (file, is_new) = owned::open_or_make(&path)?;
        let placed = Self {
            file,
            path,
            missing: None,
        };
        Ok((placed, is_new))
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file, be it in its place or not.
    pub(super) const fn file(&self) -> &File {
        &self.file
    }

    /// The file, to write to it.
    ///
    /// # Errors
    /// It was not in its place when that was last looked at.
    pub(super) fn writable(&self) -> io::Result<&File> {
        match &self.missing {
            None => Ok(&self.file),
            Some(why) => Err(io::Error::new(io::ErrorKind::NotFound, why.clone())),
        }
    }

    /// Why it is not in its place, as a sentence; `None`: it was there when that was last looked at.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Looks whether the file is in its place. If it is not, makes it there, if its directory is there, and has
    /// `restore` write to it all that the file has to hold. Returns the outcome of that.
    pub(super) fn look<T>(&mut self, restore: impl FnOnce(&File) -> io::Result<T>) -> Option<T> {
        if matches!(owned::is_at(&self.file, &self.path), Ok(true)) {
            if self.missing.take().is_some() {
                info!(event = "state_restored", "{} is back", self.path.display());
            }
            return None;
        }
        let replaced = owned::open(&self.path).and_then(|file| {
            let restored = restore(&file)?;
            Ok((file, restored))
        });
        let path = self.path.display();
        match replaced {
            Ok((file, restored)) => {
                self.file = file;
                self.missing = None;
                info!(event = "state_restored", "{path} was made again");
                Some(restored)
            }
            Err(error) => {
                let text = format!(
                    "{path} was removed, or replaced, and cannot be made again: {error}; make its directory again, or \
                     restart ringd with another: --state-dir DIR"
                );
                if self.missing.as_ref() != Some(&text) {
                    warn!(event = "state_removed", "{text}");
                }
                self.missing = Some(text);
                None
            }
        }
    }

    /// Lets all writes fail from now on.
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
    fn a_file_that_is_in_its_place_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        let (mut placed, is_new) = PlacedFile::open(path.clone()).unwrap();
        assert!(is_new && placed.look(restore).is_none());
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert!(!PlacedFile::open(path).unwrap().1, "it is there already");
    }

    #[test]
    fn a_file_that_was_removed_is_made_again_once_its_directory_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("place");
        fs::create_dir(&place).unwrap();
        let path = place.join("state");
        let (mut placed, _) = PlacedFile::open(path.clone()).unwrap();
        fs::remove_dir_all(&place).unwrap();
        for _ in 0..2 {
            assert!(placed.look(restore).is_none());
            assert!(placed.writable().is_err());
            let why = placed.trouble().expect("it is missing");
            assert!(why.contains("place/state was removed"), "{why}");
        }
        fs::create_dir(&place).unwrap();
        assert!(placed.look(restore).is_some());
        assert!(placed.writable().is_ok() && placed.trouble().is_none());
        assert_eq!(fs::read(&path).unwrap(), b"all");
    }

    #[test]
    fn a_file_that_was_moved_away_and_back_is_written_on() {
        let directory = tempfile::tempdir().unwrap();
        let [place, away] = ["place", "away"].map(|name| directory.path().join(name));
        fs::create_dir(&place).unwrap();
        let (mut placed, _) = PlacedFile::open(place.join("state")).unwrap();
        fs::rename(&place, &away).unwrap();
        assert!(placed.look(restore).is_none() && placed.writable().is_err());
        fs::rename(&away, &place).unwrap();
        assert!(placed.look(restore).is_none() && placed.writable().is_ok());
    }

    #[test]
    fn a_file_in_its_place_that_cannot_be_taken_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        let (mut placed, _) = PlacedFile::open(path.clone()).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        let refused = placed.look(|_| Err::<(), _>(io::Error::other("it is another's")));
        assert!(refused.is_none());
        let why = placed.trouble().expect("it is replaced");
        assert!(why.contains("it is another's"), "{why}");
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }
}
