//! How a keeper that nobody stands by is found again: a socket with an abstract name.
//!
//! The name says which process the lock is bound to, so there is one keeper for it at a time.
//! Such names go with the process that has them: nothing stale is left behind.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::process::getuid;
use xxhash_rust::xxh3::xxh3_64;

use super::super::lines::Lines;
use super::Order;
use crate::sys::{Interest, Poller};

/// The most visitors that have not said yet what they want. One more, and the first has to go.
const VISITORS: usize = 16;

/// A keeper's door. Nobody waits at it for a visitor to speak.
pub(super) struct Door {
    listener: UnixListener,
    visitors: VecDeque<Lines>,
}

impl Door {
    /// Opens it; `None`: another keeper has it.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn open(pid: i32, daemon: &Path) -> io::Result<Option<Self>> {
        match UnixListener::bind_addr(&address(pid, daemon)?) {
            Ok(listener) => Ok(Some(Self {
                listener,
                visitors: VecDeque::new(),
            })),
            Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lets in who is at it, if that is somebody who may come in: the own user, or root. What it says
    /// makes `poller` report `key`.
    pub(super) fn admit(&mut self, poller: &Poller, key: u64) {
        let Ok((stream, _)) = self.listener.accept() else {
            return;
        };
        if !is_trusted(&stream) || poller.add(&stream, key, Interest::Read).is_err() {
            return;
        }
        if self.visitors.len() == VISITORS {
            self.visitors.pop_front();
        }
        self.visitors.push_back(Lines::new(stream));
    }

    /// What a visitor wants who has said it, and who that is.
    pub(super) fn hear(&mut self) -> Option<(Order, Lines)> {
        let mut at = 0;
        while let Some(visitor) = self.visitors.get_mut(at) {
            if is_readable(visitor) {
                visitor.fill();
            }
            let order = visitor.next();
            let has_ended = visitor.has_ended();
            match order {
                Some(order) => return self.visitors.remove(at).map(|visitor| (order, visitor)),
                None if has_ended => drop(self.visitors.remove(at)),
                None => at += 1,
            }
        }
        None
    }
}

fn is_readable(visitor: &Lines) -> bool {
    let mut readable = [PollFd::new(visitor.as_fd(), PollFlags::POLLIN)];
    poll(&mut readable, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
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
