//! How to find a keeper again that was left alone: a socket in a directory where no other user can make one.
//!
//! It lies beside the daemon's if that directory is this user's alone, or else in this user's own. Its name
//! contains the process that the lock is bound to. A file lock beside it admits one keeper for that process at
//! a time, which may replace what a killed one has left.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::stat::Mode;
use rustix::process::getuid;
use xxhash_rust::xxh3::xxh3_64;

use super::super::lines::Lines;
use super::Order;
use crate::control::CONTROL_DIR;
use crate::sys::{FileLock, FileLockError, Interest, Poller, runtime};

/// Maximum connections without an order yet. One more, and the first is closed.
const MAX_CONNECTIONS: usize = 16;

/// A keeper's registration. It never waits for what a connection says.
pub(super) struct Registration {
    listener: UnixListener,
    path: PathBuf,
    connections: VecDeque<Lines>,
    _lock: FileLock,
}

impl Registration {
    /// Opens the registration for a process; `None`: another keeper has it.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn open(pid: i32, daemon: &Path) -> io::Result<Option<Self>> {
        let path = path(pid, daemon)?;
        let lock = match FileLock::acquire(&path.with_extension("lock")) {
            Ok(lock) => lock,
            Err(FileLockError::Held(_)) => return Ok(None),
            Err(FileLockError::Io(error)) => return Err(error),
        };
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let private = Mode::from_bits_truncate(0o177);
        let listener = runtime::with_mask(private, || UnixListener::bind(&path))?;
        Ok(Some(Self {
            listener,
            path,
            connections: VecDeque::new(),
            _lock: lock,
        }))
    }

    /// Accepts the next connection, if it is one of the own user or of root. What it says makes `poller`
    /// report `key`.
    pub(super) fn admit(&mut self, poller: &Poller, key: u64) {
        let Ok((stream, _)) = self.listener.accept() else {
            return;
        };
        if !is_trusted(&stream) || poller.add(&stream, key, Interest::Read).is_err() {
            return;
        }
        if self.connections.len() == MAX_CONNECTIONS {
            self.connections.pop_front();
        }
        self.connections.push_back(Lines::new(stream));
    }

    /// Returns the next order and its connection.
    pub(super) fn hear(&mut self) -> Option<(Order, Lines)> {
        let mut at = 0;
        while let Some(connection) = self.connections.get_mut(at) {
            if is_readable(connection) {
                connection.fill();
            }
            let order = connection.next();
            let has_ended = connection.has_ended();
            match order {
                Some(order) => {
                    return self
                        .connections
                        .remove(at)
                        .map(|connection| (order, connection));
                }
                None if has_ended => drop(self.connections.remove(at)),
                None => at += 1,
            }
        }
        None
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // If it stays, the next keeper for that process replaces it.
        let _ = fs::remove_file(&self.path);
    }
}

fn is_readable(connection: &Lines) -> bool {
    let mut readable = [PollFd::new(connection.as_fd(), PollFlags::POLLIN)];
    poll(&mut readable, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

impl AsFd for Registration {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// Connects to the keeper of the lock that is bound to a process, if there is one.
///
/// # Errors
/// The system refuses.
pub(in crate::ctl) fn find_keeper(pid: i32, daemon: &Path) -> io::Result<Option<Lines>> {
    match UnixStream::connect(path(pid, daemon)?) {
        Ok(stream) => Ok(is_trusted(&stream).then(|| Lines::new(stream))),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::ConnectionRefused | ErrorKind::NotFound
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn is_trusted(stream: &UnixStream) -> bool {
    let peer = getsockopt(stream, PeerCredentials);
    peer.is_ok_and(|peer| peer.uid() == getuid().as_raw() || peer.uid() == 0)
}

/// Returns the path. Containers that share files may have processes of the same number; their namespaces
/// differ.
fn path(pid: i32, daemon: &Path) -> io::Result<PathBuf> {
    let space = fs::metadata("/proc/self/ns/pid")?.ino();
    let name = xxh3_64(daemon.as_os_str().as_encoded_bytes());
    let beside = daemon.parent().filter(|place| runtime::is_own_alone(place));
    let directory = match beside {
        Some(place) => place.to_owned(),
        None => runtime::directory(Path::new(CONTROL_DIR))?,
    };
    Ok(directory.join(format!("keeper-{space}-{pid}-{name:016x}")))
}
