//! Locks that are files: held as long as their process lives, however it ends.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use thiserror::Error;

use super::{owned, runtime_directory};

/// The number of a process with the end of its line, and one byte more.
const LONGEST_NUMBER: u64 = 13;

/// A file that is locked. It is removed when this is dropped; what a killed process leaves behind is
/// locked by nobody.
#[derive(Debug)]
pub struct FileLock {
    file: Flock<File>,
    path: PathBuf,
}

/// Why a file could not be locked.
#[derive(Debug, Error)]
pub enum FileLockError {
    /// Somebody has it locked, who is known as well as can be found out.
    #[error("it is held {0}")]
    Held(Holder),
    /// It cannot be used.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FileLock {
    /// Locks the file at `path`, and makes it if it is missing.
    ///
    /// # Errors
    /// Another process has it locked, or this one by another value; or it is none of this user's.
    pub fn acquire(path: &Path) -> Result<Self, FileLockError> {
        loop {
            let file = owned::open(path)?;
            let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(locked) => locked,
                Err((file, Errno::EWOULDBLOCK)) => {
                    return Err(FileLockError::Held(Holder::of(&file)?));
                }
                Err((_, error)) => return Err(FileLockError::Io(error.into())),
            };
            // Whoever had it may have removed it between the opening and the locking.
            if owned::is_at(&file, path).unwrap_or(false) {
                check_contents(&file)?;
                let path = path.to_owned();
                let locked = Self { file, path };
                locked.name_holder();
                return Ok(locked);
            }
        }
    }

    fn name_holder(&self) {
        // For the message of those who come later, which does without it too.
        let _ = self.file.set_len(0);
        let line = format!("{}\n", std::process::id());
        let _ = self.file.write_all_at(line.as_bytes(), 0);
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if owned::is_at(&self.file, &self.path).unwrap_or(false) {
            // One that stays is locked by nobody.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Refuses a file that no holder has written: it has the holder's number, or nothing.
fn check_contents(file: &File) -> io::Result<()> {
    let mut text = String::new();
    let read = file.take(LONGEST_NUMBER).read_to_string(&mut text);
    if read.is_ok() && (text.is_empty() || text.trim_end().parse::<i32>().is_ok()) {
        return Ok(());
    }
    Err(owned::refused("there is a file that is not a lock"))
}

/// Who holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Its process, as the holder's own namespace numbers it; `None`: not known.
    pub pid: Option<i32>,
    /// Its user.
    pub uid: u32,
}

impl Holder {
    fn of(mut file: &File) -> io::Result<Self> {
        let mut text = String::new();
        // One that was cut short names nobody.
        let _ = file.read_to_string(&mut text);
        Ok(Self {
            pid: text.trim_end().parse().ok(),
            uid: file.metadata()?.uid(),
        })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            None => write!(f, "by a process of user {}", self.uid),
            Some(pid) => write!(f, "by process {pid}, user {}", self.uid),
        }
    }
}

/// Keeps a second daemon off a ring, as long as it lives.
///
/// Interfaces are per network namespace, and so are these locks.
#[derive(Debug)]
pub struct RingLock {
    _lock: FileLock,
}

/// Why a ring could not be locked.
#[derive(Debug, Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error(
        "{ring} is in use by another ringd (held {holder}): stop that one, or choose another interface"
    )]
    Held {
        /// The ring.
        ring: String,
        /// Who has it.
        holder: Holder,
    },
    /// The file cannot be locked.
    #[error("cannot lock {ring} by {}: {source}", path.display())]
    Io {
        /// The ring.
        ring: String,
        /// The file, or its directory.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
}

impl RingLock {
    /// Locks the ring called `ring` in this network namespace, by a file in this user's
    /// [directory](runtime_directory::directory). Two users have two files: it does not keep them off each other.
    ///
    /// # Errors
    /// [`LockError::Held`] if another process has it, or this one has it already.
    pub fn acquire(system: &Path, ring: &str) -> Result<Self, LockError> {
        let fail = |path: &Path, source| LockError::Io {
            ring: ring.to_owned(),
            path: path.to_owned(),
            source,
        };
        let directory =
            runtime_directory::directory(system).map_err(|source| fail(system, source))?;
        // That of the thread: tests go from one namespace to another in one process.
        let network = Path::new("/proc/thread-self/ns/net");
        let network = fs::metadata(network).map_err(|source| fail(network, source))?;
        let user = runtime_directory::mark(&directory);
        let path = directory.join(format!("{ring}.{}{user}.lock", network.ino()));
        match FileLock::acquire(&path) {
            Ok(lock) => Ok(Self { _lock: lock }),
            Err(FileLockError::Held(holder)) => Err(LockError::Held {
                ring: ring.to_owned(),
                holder,
            }),
            Err(FileLockError::Io(source)) => Err(fail(&path, source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{FileLock, FileLockError};

    #[test]
    fn a_lock_is_held_until_it_is_dropped_and_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        for _ in 0..2 {
            let _lock = FileLock::acquire(&path).unwrap();
            let Err(FileLockError::Held(holder)) = FileLock::acquire(&path) else {
                panic!("it is locked twice");
            };
            assert_eq!(holder.pid, i32::try_from(std::process::id()).ok());
        }
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_process_leaves_behind_is_locked_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        fs::write(&path, "7\n").unwrap();
        FileLock::acquire(&path).unwrap();
    }

    #[test]
    fn what_no_holder_has_written_is_refused_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        for contents in ["precious", "7 dwarfs", "77777777777777777777"] {
            fs::write(&path, contents).unwrap();
            let refused = FileLock::acquire(&path);
            assert!(matches!(refused, Err(FileLockError::Io(_))), "{refused:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), contents);
        }
    }

    #[test]
    fn a_link_in_its_place_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (path, target) = (
            directory.path().join("lock"),
            directory.path().join("target"),
        );
        fs::write(&target, "precious").unwrap();
        symlink(&target, &path).unwrap();
        assert!(matches!(
            FileLock::acquire(&path),
            Err(FileLockError::Io(_))
        ));
        assert_eq!(fs::read(&target).unwrap(), b"precious");
    }
}
