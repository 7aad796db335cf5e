//! The record: a file that stores the newest token.

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

const RECORD_LEN: usize = 2 * slots::SLOT_LEN;

/// The reason why a token is refused. The text of an error already contains the cause. So the errors have no `source`:
/// with a `source`, programs would print the cause twice.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FencingError {
    /// The record contains a newer token.
    #[error(
        "the token {offered} is stale: {} records the newer token {newest} of another holder",
        path.display()
    )]
    Stale {
        /// The record.
        path: PathBuf,
        /// The refused token.
        offered: String,
        /// The newest token of the record.
        newest: String,
    },
    /// The file is not a record, or it is damaged.
    #[error(
        "{} is not a record of fencing tokens, or is damaged: choose another file. If this file is the record, and no \
         older holder is at work, repair it with ringctl guard --repair",
        path.display()
    )]
    Damaged {
        /// The record.
        path: PathBuf,
    },
    /// The directory does not exist.
    #[error("cannot create {}: no such directory", path.display())]
    NoDirectory {
        /// The record.
        path: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("cannot store the newest token in {}: {reason}", path.display())]
    Io {
        /// The record.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
}

/// A file that stores the newest token. The file stays locked until this value is dropped.
///
/// The lock is a `flock` lock: only one process of the machine can hold it. On NFS, only one process of all machines
/// can hold it. The lock belongs to the open file, so every process that inherits the file holds the lock too.
#[derive(Debug)]
pub struct Record<T = FencingToken> {
    path: PathBuf,
    file: Flock<File>,
    newest: Option<T>,
    next: usize,
    was_damaged: bool,
}

impl<T: Fence> Record<T> {
    /// Waits for the lock on the file at `path`, and creates the file if it is missing.
    ///
    /// # Errors
    /// Fails with [`FencingError::Damaged`] if the file is not a record. An empty file is not a record. Fails with
    /// [`FencingError::NoDirectory`] if the directory does not exist, and with [`FencingError::Io`] if the file cannot
    /// be used.
    pub fn lock(path: &Path) -> Result<Self, FencingError> {
        Self::open(path, false)
    }

    /// Locks the file as [`lock`](Self::lock) does, but repairs a damaged record. The repaired record contains the
    /// newest readable token. If the damage destroyed a newer token, the repaired record admits tokens that are older
    /// than the destroyed token. So call this function only if all older holders have ended their work. This function
    /// does not repair a file that is longer than a record.
    ///
    /// # Errors
    /// Fails with the errors of [`lock`](Self::lock).
    pub fn repair(path: &Path) -> Result<Self, FencingError> {
        Self::open(path, true)
    }

    fn open(path: &Path, repair: bool) -> Result<Self, FencingError> {
        let fail = |reason: io::Error| {
            let path = path.to_owned();
            // The open creates a missing file. So if it finds no file, the directory is missing.
            match reason.kind() {
                ErrorKind::NotFound => FencingError::NoDirectory { path },
                _ => FencingError::Io { path, reason },
            }
        };
        let file = open_locked(path).map_err(fail)?;
        let mut bytes = Vec::new();
        // If the read returns one more byte than a record has, the file is too long.
        let limit = u64::try_from(RECORD_LEN + 1).unwrap_or(u64::MAX);
        (&*file).take(limit).read_to_end(&mut bytes).map_err(fail)?;
        let (found, was_damaged) = match slots::read(&bytes) {
            Ok(found) => (found, false),
            Err(damage) if repair && bytes.len() <= RECORD_LEN => {
                let found = repair_file(&file, damage.readable).map_err(fail)?;
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

    /// Whether the record was damaged and is now repaired.
    pub const fn was_damaged(&self) -> bool {
        self.was_damaged
    }

    /// Returns the newest token that the record admitted.
    pub const fn newest(&self) -> Option<T> {
        self.newest
    }

    /// Admits `token` if the record contains no newer token. When this function returns, the token is on disk. The
    /// caller may work under the token only while the record is locked.
    ///
    /// # Errors
    /// Fails with [`FencingError::Stale`] or [`FencingError::Io`]. If this function fails, do not work under the token.
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
        self.file
            .write_all_at(&slots::slot_bytes(Some(token)), at)?;
        self.file.sync_all()?;
        self.newest = Some(token);
        self.next = slots::SLOT_LEN - self.next;
        Ok(())
    }
}

impl AsFd for Record {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Opens and locks the file at `path`. Tries again if another process replaced the file during the wait.
fn open_locked(path: &Path) -> io::Result<Flock<File>> {
    loop {
        let file = match open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                create_blank(path)?;
                continue;
            }
            Err(error) => return Err(error),
        };
        let file = lock_exclusive(file)?;
        let ours = file.metadata()?;
        let is_same = |found: &fs::Metadata| (found.dev(), found.ino()) == (ours.dev(), ours.ino());
        if fs::symlink_metadata(path).is_ok_and(|found| is_same(&found)) {
            return Ok(file);
        }
    }
}

/// Opens the file. Refuses a symbolic link, because the owner of the link's directory could redirect the link to any
/// file.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags.bits());
    let file = options
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(code) if code == Errno::ELOOP as i32 => {
                io::Error::other("it is a symbolic link; give the file itself")
            }
            _ => error,
        })?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

fn lock_exclusive(mut file: File) -> io::Result<Flock<File>> {
    loop {
        match Flock::lock(file, FlockArg::LockExclusive) {
            Ok(locked) => return Ok(locked),
            Err((same, Errno::EINTR)) => file = same,
            Err((_, error)) => return Err(error.into()),
        }
    }
}

/// Creates a record without a token at `path`. Other processes never see an incomplete record. Does nothing if another
/// process has created the file in the meantime.
fn create_blank(path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    // The name of the temporary file is unique, because other machines may create the same record at the same moment.
    let mut new = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".new")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)?;
    new.write_all(&slots::blank_record())?;
    new.as_file().sync_all()?;
    match new.persist_noclobber(path) {
        Err(failure) if failure.error.kind() != ErrorKind::AlreadyExists => Err(failure.error),
        _ => File::open(directory)?.sync_all(),
    }
}

/// Overwrites a damaged record with a new record whose newest token is `newest`.
fn repair_file<T: Fence>(file: &File, newest: Option<T>) -> io::Result<Slots<T>> {
    let bytes = slots::record_bytes(newest);
    file.write_all_at(&bytes, 0)?;
    file.sync_all()?;
    Ok(Slots {
        newest,
        next: slots::SLOT_LEN,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{FencingError, Record, create_blank};
    use crate::fencing::{FencingToken, tests::token};

    #[test]
    fn an_error_names_a_missing_directory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/record");
        let error = Record::<FencingToken>::lock(&path).unwrap_err();
        let expected = format!("cannot create {}: no such directory", path.display());
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_record_refuses_tokens_older_than_its_newest() {
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
        assert_eq!(files, 1, "no other file is left behind");
    }

    #[test]
    fn a_damaged_record_is_refused_until_it_is_repaired() {
        let whole = |progress| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("record");
            // The first token goes to the second slot, and the last token goes to the first slot.
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
    fn a_record_that_another_machine_creates_at_the_same_moment_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record");
        Record::<FencingToken>::lock(&path)
            .unwrap()
            .admit(token(100))
            .unwrap();
        // A process of another machine with the same process number may be between two steps.
        let other_new = directory
            .path()
            .join(format!("record.{}.new", std::process::id()));
        fs::hard_link(&path, other_new).unwrap();
        create_blank(&path).unwrap();
        let mut record = Record::<FencingToken>::lock(&path).unwrap();
        assert!(record.admit(token(50)).is_err());
    }

    #[test]
    fn a_symbolic_link_is_refused() {
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
    fn a_file_with_other_contents_is_refused_and_unchanged() {
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
