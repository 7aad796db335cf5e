//! How to find a keeper again that was left alone: a socket in a directory where no other user can make one.
//!
//! Its name contains the process that the lock is bound to. A file lock beside it admits one keeper for that process at
//! a time, which may replace what a killed one has left.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::stat::Mode;
use ring_process::{FileLock, FileLockError, runtime_directory};
use ring_runtime::clock;
use ring_runtime::wait::{Interest, Poller};
use ring_text::format_duration;
use rustix::process::getuid;
use xxhash_rust::xxh3::xxh3_64;

use super::place::private;
use super::{Note, Order};
use ring_client::daemon::{PATIENCE, reach};
use ring_client::lines::Lines;

/// How long a keeper may be silent before the user is told.
const QUIET: Duration = Duration::from_secs(2);

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
        let listener = runtime_directory::with_mask(private, || UnixListener::bind(&path))?;
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
            let order = connection.next_message();
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

/// The keeper of a lock that is bound to a process, as one sees it who asks for that lock.
pub(crate) struct Found {
    lines: Lines,
    keeper: i32,
}

/// Connects to the keeper of the lock that is bound to a process, if there is one.
pub(crate) fn find_keeper(pid: i32, daemon: &Path) -> io::Result<Option<Found>> {
    let stream = match reach(&path(pid, daemon)?) {
        Ok(stream) => stream,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::ConnectionRefused | ErrorKind::NotFound
            ) =>
        {
            return Ok(None);
        }
        // As many wait for it as it may let wait.
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(silent(None)),
        Err(error) => return Err(error),
    };
    let keeper = getsockopt(&stream, PeerCredentials).map_or(0, |peer| peer.pid());
    let found = is_trusted(&stream).then(|| Found {
        lines: Lines::new(stream),
        keeper,
    });
    Ok(found)
}

impl Found {
    /// Returns its answer; `None`: it has hung up. Tells the user while it is silent.
    pub(crate) fn ask(&mut self, order: &Order) -> io::Result<Option<Note>> {
        let asked = clock::now().monotonic;
        let mut tells = true;
        // One that is gone has hung up.
        let _ = self.lines.send(order);
        loop {
            if let Some(note) = self.lines.next_message() {
                return Ok(Some(note));
            }
            if self.lines.has_ended() {
                return Ok(None);
            }
            let by = asked + if tells { QUIET } else { PATIENCE };
            if !self.lines.fill_by(Some(by))? {
                if !tells {
                    return Err(silent(Some(self.keeper)));
                }
                tells = false;
                // Where nobody can be told it waits all the same.
                let _ = writeln!(
                    io::stderr(),
                    "ringctl: waiting for ringd-keeper (process {}), which does not answer: it is stopped, or hangs",
                    self.keeper
                );
            }
        }
    }
}

fn silent(keeper: Option<i32>) -> io::Error {
    let process = keeper.map_or_else(String::new, |pid| format!(" (process {pid})"));
    let text = format!(
        "no answer from ringd-keeper{process} for {}: it is stopped, or hangs",
        format_duration(PATIENCE)
    );
    io::Error::new(ErrorKind::TimedOut, text)
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
    private(Some(daemon), &format!("keeper-{space}-{pid}"), name)
}
