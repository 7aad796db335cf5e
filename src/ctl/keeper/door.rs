//! How a keeper that nobody stands by is found again: a socket with an abstract name.
//!
//! The name says which process the lock is bound to, so there is one keeper for it at a time.
//! Such names go with the process that has them: nothing stale is left behind.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::process::getuid;
use xxhash_rust::xxh3::xxh3_64;

use super::super::lines::Lines;

/// How long a visitor may take to say what it wants. The work of the keeper waits for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// A keeper's door.
pub(super) struct Door {
    listener: UnixListener,
}

impl Door {
    /// Opens it; `None`: another keeper has it.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn open(pid: i32, daemon: &Path) -> io::Result<Option<Self>> {
        match UnixListener::bind_addr(&address(pid, daemon)?) {
            Ok(listener) => Ok(Some(Self { listener })),
            Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Who is at it, if that is somebody who may come in: the own user, or root.
    pub(super) fn visitor(&self) -> Option<Lines> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        is_trusted(&stream).then(|| Lines::new(stream))
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// The keeper of the lock that is bound to a process, if there is one.
///
/// # Errors
/// The system refuses.
pub(in crate::ctl) fn knock(pid: i32, daemon: &Path) -> io::Result<Option<Lines>> {
    match UnixStream::connect_addr(&address(pid, daemon)?) {
        Ok(stream) => Ok(is_trusted(&stream).then(|| Lines::new(stream))),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_trusted(stream: &UnixStream) -> bool {
    let peer = getsockopt(stream, PeerCredentials);
    peer.is_ok_and(|peer| peer.uid() == getuid().as_raw() || peer.uid() == 0)
}

/// Containers that share a network have processes of the same number; their namespaces differ.
fn address(pid: i32, daemon: &Path) -> io::Result<SocketAddr> {
    let space = fs::metadata("/proc/self/ns/pid")?.ino();
    let daemon = xxh3_64(daemon.as_os_str().as_encoded_bytes());
    SocketAddr::from_abstract_name(format!("ringctl/{space}/{pid}/{daemon:016x}"))
}
