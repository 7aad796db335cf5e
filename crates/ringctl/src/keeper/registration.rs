//! The registration of a keeper without a parent. The registration is a socket in a directory in which other users
//! cannot create files.
//!
//! The socket's name contains the number of the process that the lock is bound to. A lock file next to the socket
//! allows only one keeper per process. If a keeper is killed, the next keeper replaces the socket of the killed keeper.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
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

use super::private_path::private_path;
use super::{LockId, Note, Order};
use ring_client::daemon::{STEP_TIMEOUT, connect_untrusted};
use ring_client::lines::Lines;

/// Time after which a warning is printed if the keeper does not answer.
const WARN_AFTER: Duration = Duration::from_secs(2);

/// Maximum number of connections that have not sent an order yet. When a further connection arrives, the registration
/// closes the oldest of them.
const CONNECTIONS_MAX: usize = 16;

/// A keeper's registration. It does not wait for a connection that sends no order.
pub(super) struct Registration {
    listener: UnixListener,
    path: PathBuf,
    connections: VecDeque<Lines>,
    _lock: FileLock,
}

impl Registration {
    /// Opens the registration for a process. Returns `None` if a different keeper is registered for this process.
    pub(super) fn open(pid: i32, lock: &LockId) -> io::Result<Option<Self>> {
        let path = registration_path(pid, lock)?;
        let file = match FileLock::acquire(&path.with_extension("lock")) {
            Ok(file) => file,
            Err(FileLockError::Held(_)) => return Ok(None),
            Err(FileLockError::Io(error)) => return Err(error),
        };
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let private = Mode::from_bits_truncate(0o177);
        let listener = runtime_directory::with_file_mask(private, || UnixListener::bind(&path))?;
        Ok(Some(Self {
            listener,
            path,
            connections: VecDeque::new(),
            _lock: file,
        }))
    }

    /// Accepts the next connection if it comes from this user or root. When the connection sends an order, `poller`
    /// reports `key`.
    pub(super) fn accept(&mut self, poller: &Poller, key: u64) {
        let Ok((stream, _)) = self.listener.accept() else {
            return;
        };
        if !is_trusted(&stream) || poller.add(&stream, key, Interest::Read).is_err() {
            return;
        }
        if self.connections.len() == CONNECTIONS_MAX {
            self.connections.pop_front();
        }
        self.connections.push_back(Lines::new(stream));
    }

    pub(super) fn next_order(&mut self) -> Option<(Order, Lines)> {
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
        // If removing the file fails, the next keeper for the same process replaces it.
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

pub(crate) struct KeeperConnection {
    lines: Lines,
    keeper: i32,
}

/// Connects to the keeper of the lock that is bound to a process, if the process has such a keeper.
pub(crate) fn connect_keeper(pid: i32, lock: &LockId) -> io::Result<Option<KeeperConnection>> {
    let stream = match connect_untrusted(&registration_path(pid, lock)?) {
        Ok(stream) => stream,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::ConnectionRefused | ErrorKind::NotFound
            ) =>
        {
            return Ok(None);
        }
        // The queue for new connections to the keeper is full.
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(no_answer(None)),
        Err(error) => return Err(error),
    };
    let keeper = getsockopt(&stream, PeerCredentials).map_or(0, |peer| peer.pid());
    let connection = is_trusted(&stream).then(|| KeeperConnection {
        lines: Lines::new(stream),
        keeper,
    });
    Ok(connection)
}

impl KeeperConnection {
    /// Sends an order and returns the keeper's answer; `None` if the keeper closed the connection. Prints a warning
    /// while the keeper does not answer.
    pub(crate) fn ask(&mut self, order: &Order) -> io::Result<Option<Note>> {
        let asked = clock::now().monotonic;
        let mut shall_warn = true;
        // Ignore errors: if the keeper has ended, the next read shows the end.
        let _ = self.lines.send(order);
        loop {
            if let Some(note) = self.lines.next_message() {
                return Ok(Some(note));
            }
            if self.lines.has_ended() {
                return Ok(None);
            }
            let by = asked + if shall_warn { WARN_AFTER } else { STEP_TIMEOUT };
            if !self.lines.fill_by(Some(by))? {
                if !shall_warn {
                    return Err(no_answer(Some(self.keeper)));
                }
                shall_warn = false;
                // If the warning cannot be printed, `ringctl` still waits for the answer.
                let _ = writeln!(
                    io::stderr(),
                    "ringctl: waiting for ringd-keeper (process {}), which does not answer: it is stopped, or hangs",
                    self.keeper
                );
            }
        }
    }
}

fn no_answer(keeper: Option<i32>) -> io::Error {
    let process = keeper.map_or_else(String::new, |pid| format!(" (process {pid})"));
    let text = format!(
        "no answer from ringd-keeper{process} for {}: it is stopped, or hangs",
        format_duration(STEP_TIMEOUT)
    );
    io::Error::new(ErrorKind::TimedOut, text)
}

fn is_trusted(stream: &UnixStream) -> bool {
    let peer = getsockopt(stream, PeerCredentials);
    peer.is_ok_and(|peer| peer.uid() == getuid().as_raw() || peer.uid() == 0)
}

/// Returns the registration's path. The path contains the PID namespace, because containers with shared files may have
/// processes with the same number.
fn registration_path(pid: i32, lock: &LockId) -> io::Result<PathBuf> {
    let namespace = fs::metadata("/proc/self/ns/pid")?.ino();
    let mut id = lock.daemon.as_os_str().as_encoded_bytes().to_vec();
    if let Some(name) = &lock.name {
        // Paths never contain this byte. So the texts of different locks differ.
        id.push(0);
        id.extend(name.as_bytes());
    }
    let kind = format!("keeper-{namespace}-{pid}");
    private_path(Some(&lock.daemon), &kind, xxh3_64(&id))
}
