//! Lock files. When the process that holds a lock ends, the lock ends too, whatever the reason is.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use rustix::fs::{FlockOperation, flock};
use thiserror::Error;

use super::{private_files, runtime_directory};

/// Maximum length of a process number with its newline, plus one byte. The additional byte shows that a file is too
/// long.
const NUMBER_LEN_MAX: u64 = 13;
/// Interval of attempts to lock a ring whose lock a copy of an ended process keeps.
const COPY_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A locked file. The drop of this value removes the file. If the process is killed, the file stays, but is no longer
/// locked.
#[derive(Debug)]
pub struct FileLock {
    file: Flock<File>,
    path: PathBuf,
}

/// The reason why a file could not be locked.
#[derive(Debug, Error)]
pub enum FileLockError {
    /// Another process holds the lock. [`Holder`] contains the known facts about this process.
    #[error("it is held {0}")]
    Held(Holder),
    /// The file cannot be used.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FileLock {
    /// Locks the file at `path`. If the file is missing, creates it.
    ///
    /// # Errors
    /// Fails if another process, or another `FileLock` of this process, holds the lock. Also fails if the file belongs
    /// to another user.
    pub fn acquire(path: &Path) -> Result<Self, FileLockError> {
        loop {
            let file = private_files::open(path)?;
            let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(locked) => locked,
                Err((file, Errno::EWOULDBLOCK)) => {
                    return Err(FileLockError::Held(Holder::read(&file)?));
                }
                Err((_, error)) => return Err(FileLockError::Io(error.into())),
            };
            // The last holder may have removed the file after this process had opened it, and before this process
            // locked it.
            if private_files::is_at(&file, path).unwrap_or(false) {
                check_contents(&file)?;
                let path = path.to_owned();
                let locked = Self { file, path };
                locked.write_holder();
                return Ok(locked);
            }
        }
    }

    fn write_holder(&self) {
        // A failure is harmless, because other processes use the number only in error messages.
        let _ = self.file.set_len(0);
        let line = format!("{}\n", std::process::id());
        let _ = self.file.write_all_at(line.as_bytes(), 0);
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if private_files::is_at(&self.file, &self.path).unwrap_or(false) {
            // If the file cannot be removed, it stays, but it is not locked.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Refuses a file that is not a lock file. A lock file contains its holder's process number, or is empty.
fn check_contents(file: &File) -> io::Result<()> {
    let mut text = String::new();
    let read = file.take(NUMBER_LEN_MAX).read_to_string(&mut text);
    if read.is_ok() && (text.is_empty() || text.trim_end().parse::<i32>().is_ok()) {
        return Ok(());
    }
    Err(private_files::refusal(
        "the existing file is not a lock file",
    ))
}

/// The holder of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The holder's process number in the holder's PID namespace. The number is `None` if it is unknown.
    pub pid: Option<i32>,
    /// The holder's user.
    pub uid: u32,
}

impl Holder {
    fn read(mut file: &File) -> io::Result<Self> {
        let mut text = String::new();
        // If the number cannot be read, the process of the holder stays unknown.
        let _ = file.read_to_string(&mut text);
        Ok(Self {
            pid: text.trim_end().parse().ok(),
            uid: file.metadata()?.uid(),
        })
    }
}

impl Holder {
    /// Whether the holder's process no longer exists. A process with the same number in another PID namespace counts
    /// as the holder.
    fn has_ended(&self) -> bool {
        let pid = self.pid.filter(|&pid| pid > 0);
        pid.is_some_and(|pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH))
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

/// The lock of a daemon on a ring. Until this value is dropped, no second daemon can use the ring.
///
/// Each network namespace has its own interfaces. So the locks of different namespaces are separate.
#[derive(Debug)]
pub struct RingLock {
    lock: FileLock,
}

/// The reason why a ring could not be locked.
#[derive(Debug, Error)]
pub enum LockError {
    /// A different daemon holds the lock.
    #[error(
        "{ring} is in use by another ringd (held {holder}): stop that ringd, or choose another interface"
    )]
    Held {
        /// The ring.
        ring: String,
        /// The holder.
        holder: Holder,
    },
    /// The file cannot be locked.
    #[error("cannot lock {ring} with {}: {source}", path.display())]
    Io {
        /// The ring.
        ring: String,
        /// The file, or its directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl RingLock {
    /// Locks the ring `ring` in this network namespace, with a file in this user's
    /// [directory](runtime_directory::directory). Two users have different files, so their locks do not exclude each
    /// other. If the holder has ended, a [copy](AsFd) of it still keeps the lock. In this case, waits for at most
    /// `copy_timeout`.
    ///
    /// # Errors
    /// Fails with [`LockError::Held`] if another process holds the lock, or if this process already holds it.
    pub fn acquire(system: &Path, ring: &str, copy_timeout: Duration) -> Result<Self, LockError> {
        let fail = |path: &Path, source| LockError::Io {
            ring: ring.to_owned(),
            path: path.to_owned(),
            source,
        };
        let directory =
            runtime_directory::directory(system).map_err(|source| fail(system, source))?;
        // Use the namespace of this thread, because tests use several namespaces in one process.
        let network = Path::new("/proc/thread-self/ns/net");
        let network = fs::metadata(network).map_err(|source| fail(network, source))?;
        let user = runtime_directory::user_suffix(&directory);
        let path = directory.join(format!("{ring}.{}{user}.lock", network.ino()));
        let deadline = Instant::now() + copy_timeout;
        loop {
            match FileLock::acquire(&path) {
                Ok(lock) => return Ok(Self { lock }),
                Err(FileLockError::Held(holder))
                    if holder.has_ended() && Instant::now() < deadline =>
                {
                    thread::sleep(COPY_POLL_INTERVAL);
                }
                Err(FileLockError::Held(holder)) => {
                    let ring = ring.to_owned();
                    return Err(LockError::Held { ring, holder });
                }
                Err(FileLockError::Io(source)) => return Err(fail(&path, source)),
            }
        }
    }

    /// Ends the lock for all processes that have a copy of its descriptor. The file stays.
    pub fn unlock(&self) {
        // This call cannot fail for a lock that this process has.
        let _ = flock(&*self.lock.file, FlockOperation::Unlock);
    }

    /// Returns the directory of the lock's file, which the lock removes when it is dropped.
    pub fn directory(&self) -> Option<&Path> {
        self.lock.path.parent()
    }
}

/// While a forked copy of this process keeps the descriptor open, the lock does not end with this process. Dropping the
/// lock ends it in any case.
impl AsFd for RingLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lock.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{FileLock, FileLockError};

    #[test]
    fn a_lock_is_held_until_it_is_dropped_and_leaves_no_file() {
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
    fn the_file_of_a_killed_process_is_locked_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        fs::write(&path, "7\n").unwrap();
        FileLock::acquire(&path).unwrap();
    }

    #[test]
    fn another_file_is_refused_and_unchanged() {
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
    fn a_symbolic_link_is_refused() {
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
