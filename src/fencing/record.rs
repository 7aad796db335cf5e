//! The newest token that a file has seen.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use thiserror::Error;

use super::{FencingToken, slots};

/// Why nothing is to be done under a token. The text has all of the reason: no error has a source
/// that would tell it again.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FencingError {
    /// A newer token was seen already.
    #[error(
        "the token {offered} is stale: {} has seen {newest} already, so another holder came since",
        path.display()
    )]
    Stale {
        /// The record.
        path: PathBuf,
        /// The token that was shown.
        offered: FencingToken,
        /// The newest that the record has seen.
        newest: FencingToken,
    },
    /// The file is none that this module has written, or is damaged.
    #[error(
        "{} is not a record of fencing tokens, or it is damaged: choose another file, or remove \
         it when no holder of an older token is at work any more",
        path.display()
    )]
    Damaged {
        /// The record.
        path: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("cannot keep the newest token in {}: {reason}", path.display())]
    Io {
        /// The record.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
}

/// A file that remembers the newest token, locked for as long as this value lives.
///
/// The lock is that of `flock`: one holder at a time in all processes, and on NFS on all
/// machines. It is on the open file, and so also held by every process that inherits it.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    file: Flock<File>,
    newest: Option<FencingToken>,
    next: usize,
}

impl Record {
    /// Waits for the lock on the file at `path`, and makes the file if it is not there. An empty
    /// one counts as new.
    ///
    /// # Errors
    /// [`FencingError::Damaged`] if the file holds something else, [`FencingError::Io`].
    pub fn lock(path: &Path) -> Result<Self, FencingError> {
        let fail = |reason| FencingError::Io {
            path: path.to_owned(),
            reason,
        };
        let file = locked(path).map_err(fail)?;
        let mut bytes = Vec::new();
        let most = u64::try_from(2 * slots::SLOT).unwrap_or(u64::MAX);
        (&*file).take(most).read_to_end(&mut bytes).map_err(fail)?;
        let found = slots::read(&bytes).ok_or_else(|| FencingError::Damaged {
            path: path.to_owned(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            newest: found.newest,
            next: found.next,
        })
    }

    /// The newest token that was seen.
    #[must_use]
    pub const fn newest(&self) -> Option<FencingToken> {
        self.newest
    }

    /// Lets `token` pass if none newer was seen, and remembers it, on disk when this returns.
    /// What is then done under it is to be done while the record is locked.
    ///
    /// # Errors
    /// [`FencingError::Stale`], or [`FencingError::Io`]; then nothing is to be done.
    pub fn admit(&mut self, token: FencingToken) -> Result<(), FencingError> {
        match self.newest {
            Some(newest) if newest > token => Err(FencingError::Stale {
                path: self.path.clone(),
                offered: token,
                newest,
            }),
            Some(newest) if newest == token => Ok(()),
            _ => self.write(token).map_err(|reason| FencingError::Io {
                path: self.path.clone(),
                reason,
            }),
        }
    }

    fn write(&mut self, token: FencingToken) -> io::Result<()> {
        let at = u64::try_from(self.next).map_err(io::Error::other)?;
        self.file.write_all_at(&slots::slot(Some(token)), at)?;
        self.file.sync_all()?;
        self.newest = Some(token);
        self.next = slots::SLOT - self.next;
        Ok(())
    }
}

impl AsFd for Record {
    /// The locked file.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The file at `path`, which nobody has put another in the place of while it was waited for.
fn locked(path: &Path) -> io::Result<Flock<File>> {
    loop {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make(path)?;
                continue;
            }
            Err(error) => return Err(error),
        };
        let file = exclusive(file)?;
        let ours = file.metadata()?;
        let is_there =
            |found: &fs::Metadata| (found.dev(), found.ino()) == (ours.dev(), ours.ino());
        if !fs::metadata(path).is_ok_and(|found| is_there(&found)) {
            continue;
        }
        if ours.len() == 0 {
            (&*file).write_all(&slots::blank())?;
            file.sync_all()?;
            io::Seek::rewind(&mut &*file)?;
        }
        return Ok(file);
    }
}

fn exclusive(mut file: File) -> io::Result<Flock<File>> {
    loop {
        match Flock::lock(file, FlockArg::LockExclusive) {
            Ok(locked) => return Ok(locked),
            Err((same, Errno::EINTR)) => file = same,
            Err((_, error)) => return Err(error.into()),
        }
    }
}

/// Makes a blank record at `path`, whole or not at all, unless there is a file by now.
fn make(path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = directory.join(name);
    let mut file = File::create(&new)?;
    file.write_all(&slots::blank())?;
    file.sync_all()?;
    let linked = fs::hard_link(&new, path);
    fs::remove_file(&new)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => File::open(directory)?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{FencingError, Record};
    use crate::fencing::FencingToken;

    fn token(progress: u64) -> FencingToken {
        format!("{progress}-02:00:00:00:00:01-7")
            .parse()
            .expect("a token")
    }

    #[test]
    fn a_record_remembers_the_newest_and_refuses_older_ones() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record");
        for (progress, passes) in [
            (5, true),
            (5, true),
            (7, true),
            (6, false),
            (8, true),
            (7, false),
        ] {
            let mut record = Record::lock(&path).unwrap();
            match record.admit(token(progress)) {
                Ok(()) => assert!(passes, "{progress}"),
                Err(FencingError::Stale { newest, .. }) => {
                    assert!(!passes, "{progress}");
                    assert!(newest > token(progress));
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(Record::lock(&path).unwrap().newest(), Some(token(8)));
        let files = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(files, 1, "nothing else is left behind");
    }

    #[test]
    fn an_empty_file_is_a_new_record() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut record = Record::lock(file.path()).unwrap();
        assert_eq!(record.newest(), None);
        record.admit(token(1)).unwrap();
        drop(record);
        assert_eq!(Record::lock(file.path()).unwrap().newest(), Some(token(1)));
    }

    #[test]
    fn a_record_that_lost_its_end_still_refuses_what_its_rest_knows() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // The second slot is written first, so the first one holds 6.
        for progress in [5, 6] {
            Record::lock(file.path())
                .unwrap()
                .admit(token(progress))
                .unwrap();
        }
        file.as_file().set_len(100).unwrap();
        let mut record = Record::lock(file.path()).unwrap();
        assert!(record.admit(token(5)).is_err());
        record.admit(token(7)).unwrap();
        drop(record);
        assert_eq!(Record::lock(file.path()).unwrap().newest(), Some(token(7)));
    }

    #[test]
    fn a_file_with_other_contents_is_refused_and_left_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "my thesis").unwrap();
        let error = Record::lock(file.path()).unwrap_err();
        assert!(matches!(error, FencingError::Damaged { .. }), "{error}");
        assert_eq!(fs::read(file.path()).unwrap(), b"my thesis");
    }
}
