//! One daemon an interface.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, getsockopt, listen, socket,
};
use thiserror::Error;

/// Keeps a second daemon off an interface, as long as it lives.
///
/// It is a socket with an abstract name. Such names are per network namespace, as interfaces are,
/// and go with the process however it ends, so there is no stale lock to clear away.
#[derive(Debug)]
pub struct InterfaceLock {
    _socket: OwnedFd,
}

/// Who holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Its process, as this process's namespace numbers it; 0 if it lies outside.
    pub pid: i32,
    /// Its user.
    pub uid: u32,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            0 => write!(f, "by a process outside this container, user {}", self.uid),
            pid => write!(f, "by process {pid}, user {}", self.uid),
        }
    }
}

/// Why an interface could not be locked.
#[derive(Debug, Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error(
        "{interface} is in use by another ringd ({}): stop that one, or choose another interface",
        holder.map_or_else(|| "its process is unknown".to_owned(), |holder| format!("held {holder}"))
    )]
    Held {
        /// The interface.
        interface: String,
        /// Who has it, if it can be found out.
        holder: Option<Holder>,
    },
    /// The kernel refused the lock itself.
    #[error("{interface} cannot be locked: {source}")]
    Io {
        /// The interface.
        interface: String,
        /// What the kernel said.
        source: io::Error,
    },
}

impl InterfaceLock {
    /// Locks the interface called `name` in this network namespace.
    ///
    /// # Errors
    /// [`LockError::Held`] if another process has it, or this one has it already.
    pub fn acquire(name: &str) -> Result<Self, LockError> {
        match Self::bind(name) {
            Ok(socket) => Ok(Self { _socket: socket }),
            Err(Errno::EADDRINUSE) => Err(LockError::Held {
                interface: name.to_owned(),
                holder: holder(name).ok(),
            }),
            Err(error) => Err(LockError::Io {
                interface: name.to_owned(),
                source: error.into(),
            }),
        }
    }

    fn bind(name: &str) -> nix::Result<OwnedFd> {
        let socket = stream()?;
        bind(socket.as_raw_fd(), &address(name)?)?;
        // Nobody is ever accepted: being connected to is enough to show who listens.
        listen(&socket, Backlog::MAXCONN)?;
        Ok(socket)
    }
}

/// Who listens at the name of the lock.
fn holder(name: &str) -> nix::Result<Holder> {
    let socket = stream()?;
    connect(socket.as_raw_fd(), &address(name)?)?;
    let credentials = getsockopt(&socket, PeerCredentials)?;
    Ok(Holder {
        pid: credentials.pid(),
        uid: credentials.uid(),
    })
}

fn stream() -> nix::Result<OwnedFd> {
    socket(
        AddressFamily::Unix,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        None,
    )
}

fn address(name: &str) -> nix::Result<UnixAddr> {
    UnixAddr::new_abstract(format!("ringd/{name}").as_bytes())
}
