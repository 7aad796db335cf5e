//! The newest token that a file has seen.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use thiserror::Error;

use super::slots::{self, Slots};
use super::{Fence, FencingToken};

/// The length of a record in bytes.
const LEN: usize = 2 * slots::SLOT;

/// Why nothing is to be done under a token. The text has all of the reason: no error has a source
/// that would tell it again.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FencingError {
    /// A newer token was seen already.
    #[error(
        "the token {offered} is stale: {} records the newer {newest}, so another holder came since",
        path.display()
    )]
    Stale {
        /// The record.
        path: PathBuf,
        /// The token that was shown.
        offered: String,
        /// The newest that the record has seen.
        newest: String,
    },
    /// The file is none that this module has written, or is damaged.
    #[error(
        "{} is not a record of fencing tokens, or it is damaged: choose another file; or, if it is the record \
         and no holder of an older token is at work, let ringctl guard --repair go on from what is left of it",
        path.display()
    )]
    Damaged {
        /// The record.
        path: PathBuf,
    },
    /// There is no such directory.
    #[error("cannot create {}: no such directory", path.display())]
    NoDirectory {
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
pub struct Record<T = FencingToken> {
    path: PathBuf,
    file: Flock<File>,
    newest: Option<T>,
    next: usize,
    was_damaged: bool,
}

impl<T: Fence> Record<T> {
    /// Waits for the lock on the file at `path`, and makes the file if it is not there.
    ///
    /// # Errors
    /// [`FencingError::Damaged`] if the file holds something else, be it nothing; [`FencingError::Io`].
    pub fn lock(path: &Path) -> Result<Self, FencingError> {
        Self::open(path, false)
    }

    /// The same, but a damaged record goes on from the newest token that can still be read in it. If a
    /// newer one was lost, what is older than that passes again: no holder of an older token may be at
    /// work. A file that is longer than a record is refused all the same.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn repair(path: &Path) -> Result<Self, FencingError> {
        Self::open(path, true)
    }

    fn open(path: &Path, repair: bool) -> Result<Self, FencingError> {
        let fail = |reason: io::Error| {
            let path = path.to_owned();
            // A file that is missing is made.
            match reason.kind() {
                ErrorKind::NotFound => FencingError::NoDirectory { path },
                _ => FencingError::Io { path, reason },
            }
        };
        let file = locked(path).map_err(fail)?;
        let mut bytes = Vec::new();
        // One more shows that there is more.
        let most = u64::try_from(LEN + 1).unwrap_or(u64::MAX);
        (&*file).take(most).read_to_end(&mut bytes).map_err(fail)?;
        let (found, was_damaged) = match slots::read(&bytes) {
            Ok(found) => (found, false),
            Err(damage) if repair && bytes.len() <= LEN => {
                let found = rewrite(&file, damage.left).map_err(fail)?;
                (found, true)
            }
            Err(_) => {
                return Err(FencingError::Damaged {
                    path: path.to_owned(),
                });
            }
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            newest: found.newest,
            next: found.next,
            was_damaged,
        })
    }

    /// Whether it was damaged, and was repaired.
    pub const fn was_damaged(&self) -> bool {
        self.was_damaged
    }

    /// The newest token that was seen.
    pub const fn newest(&self) -> Option<T> {
        self.newest
    }

    /// Lets `token` pass if none newer was seen, and remembers it, on disk when this returns.
    /// What is then done under it is to be done while the record is locked.
    ///
    /// # Errors
    /// [`FencingError::Stale`], or [`FencingError::Io`]; then nothing is to be done.
    pub fn admit(&mut self, token: T) -> Result<(), FencingError> {
        match self.newest {
            Some(newest) if newest > token => Err(FencingError::Stale {
                path: self.path.clone(),
                offered: token.to_string(),
                newest: newest.to_string(),
            }),
            Some(newest) if newest == token => Ok(()),
            _ => self.write(token).map_err(|reason| FencingError::Io {
                path: self.path.clone(),
                reason,
            }),
        }
    }

    fn write(&mut self, token: T) -> io::Result<()> {
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
        let file = match open(path) {
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
        if fs::symlink_metadata(path).is_ok_and(|found| is_there(&found)) {
            return Ok(file);
        }
    }
}

/// Opens the file itself: who owns a link's directory may point it at any other.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags.bits());
    let file = options
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(code) if code == Errno::ELOOP as i32 => {
                io::Error::other("it is a symbolic link: give the file itself")
            }
            _ => error,
        })?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
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
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    // A name that nobody has: other machines may make the same record at the same moment.
    let mut new = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".new")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)?;
    new.write_all(&slots::empty())?;
    new.as_file().sync_all()?;
    match new.persist_noclobber(path) {
        Err(failure) if failure.error.kind() != ErrorKind::AlreadyExists => Err(failure.error),
        _ => File::open(directory)?.sync_all(),
    }
}

/// Makes a damaged record a whole one, with this as its newest token.
fn rewrite<T: Fence>(file: &File, newest: Option<T>) -> io::Result<Slots<T>> {
    let bytes = slots::record(newest);
    file.write_all_at(&bytes, 0)?;
    file.sync_all()?;
    Ok(Slots {
        newest,
        next: slots::SLOT,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{FencingError, Record, make};
    use crate::fencing::FencingToken;

    fn token(progress: u64) -> FencingToken {
        format!("{progress}-02:00:00:00:00:01-7")
            .parse()
            .expect("a token")
    }

    #[test]
    fn a_record_in_no_directory_is_told_of() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/record");
        let error = Record::<FencingToken>::lock(&path).unwrap_err();
        let expected = format!("cannot create {}: no such directory", path.display());
        assert_eq!(error.to_string(), expected);
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
            let mut record = Record::<FencingToken>::lock(&path).unwrap();
            match record.admit(token(progress)) {
                Ok(()) => assert!(passes, "{progress}"),
                Err(FencingError::Stale { newest, .. }) => {
                    assert!(!passes, "{progress}");
                    assert!(newest.parse::<FencingToken>().unwrap() > token(progress));
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(
            Record::<FencingToken>::lock(&path).unwrap().newest(),
            Some(token(8))
        );
        let files = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(files, 1, "nothing else is left behind");
    }

    #[test]
    fn a_damaged_record_is_refused_until_it_is_repaired() {
        let whole = |progress| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("record");
            // The second slot is written first, so the first one holds the last of two.
            for progress in [progress - 1, progress] {
                Record::<FencingToken>::lock(&path)
                    .unwrap()
                    .admit(token(progress))
                    .unwrap();
            }
            fs::read(&path).unwrap()
        };
        let mut first_slot = whole(6);
        first_slot[0] = b'9';
        let cases = [
            (Vec::new(), None),
            (whole(6)[..100].to_vec(), Some(6)),
            (first_slot, Some(5)),
            (vec![0; 192], None),
        ];
        for (bytes, left) in cases {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), &bytes).unwrap();
            let error = Record::<FencingToken>::lock(file.path()).unwrap_err();
            assert!(matches!(error, FencingError::Damaged { .. }), "{error}");
            assert!(error.to_string().contains("--repair"), "{error}");
            assert_eq!(fs::read(file.path()).unwrap(), bytes);
            let record = Record::repair(file.path()).unwrap();
            assert_eq!(
                (record.newest(), record.was_damaged()),
                (left.map(token), true)
            );
            drop(record);
            let mut record = Record::repair(file.path()).unwrap();
            assert!(!record.was_damaged());
            record.admit(token(7)).unwrap();
            assert!(record.admit(token(6)).is_err());
            drop(record);
            assert_eq!(
                Record::<FencingToken>::lock(file.path()).unwrap().newest(),
                Some(token(7))
            );
        }
    }

    #[test]
    fn a_machine_that_makes_the_record_at_the_same_moment_takes_nothing_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record");
        Record::<FencingToken>::lock(&path)
            .unwrap()
            .admit(token(100))
            .unwrap();
        // Where another machine's process of the same number is between two steps.
        let its = directory
            .path()
            .join(format!("record.{}.new", std::process::id()));
        fs::hard_link(&path, its).unwrap();
        make(&path).unwrap();
        let mut record = Record::<FencingToken>::lock(&path).unwrap();
        assert!(record.admit(token(50)).is_err());
    }

    #[test]
    fn a_link_is_refused_wherever_it_leads() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        Record::<FencingToken>::lock(&at("record")).unwrap();
        for (name, target) in [("link", "record"), ("dangling", "missing")] {
            symlink(at(target), at(name)).unwrap();
            let error = Record::<FencingToken>::lock(&at(name)).unwrap_err();
            assert!(error.to_string().contains("symbolic link"), "{error}");
        }
        assert!(!at("missing").exists());
    }

    #[test]
    fn a_file_with_other_contents_is_refused_and_left_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "my thesis").unwrap();
        let error = Record::<FencingToken>::lock(file.path()).unwrap_err();
        assert!(matches!(error, FencingError::Damaged { .. }), "{error}");
        assert_eq!(fs::read(file.path()).unwrap(), b"my thesis");
        let long = "my thesis ".repeat(30);
        fs::write(file.path(), &long).unwrap();
        let error = Record::<FencingToken>::repair(file.path()).unwrap_err();
        assert!(matches!(error, FencingError::Damaged { .. }), "{error}");
        assert_eq!(fs::read(file.path()).unwrap(), long.as_bytes());
    }
}
