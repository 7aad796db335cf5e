//! Hearing that some interface has changed.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

/// The most messages that one [`drain`](InterfaceWatch::drain) takes: a host that makes interfaces
/// by the thousand must not hold the loop up.
const MESSAGES: usize = 64;

/// A doorbell: it rings when any interface of this network namespace has come, gone or changed,
/// or any address of one. What has changed is for the caller to look up, so that lost and
/// reordered messages do no harm.
#[derive(Debug)]
pub struct InterfaceWatch {
    socket: OwnedFd,
}

impl InterfaceWatch {
    /// Listens from now on. Look the interface up after this, not before.
    ///
    /// # Errors
    /// The kernel refused the rtnetlink socket.
    pub fn new() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::NetlinkRoute,
        )?;
        let groups = libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;
        bind(
            socket.as_raw_fd(),
            &NetlinkAddr::new(0, groups.cast_unsigned()),
        )?;
        Ok(Self { socket })
    }

    /// Takes the messages that have come, and says whether there were any: something has changed.
    ///
    /// # Errors
    /// The socket is broken.
    pub fn drain(&mut self) -> io::Result<bool> {
        let mut rang = false;
        // Each message is cut to this: nobody reads it.
        let mut message = [0; 16];
        for _ in 0..MESSAGES {
            match recv(
                self.socket.as_raw_fd(),
                &mut message,
                MsgFlags::MSG_DONTWAIT,
            ) {
                // ENOBUFS: there were more messages than room for them.
                Ok(_) | Err(Errno::ENOBUFS) => rang = true,
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(rang)
    }
}

impl AsFd for InterfaceWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
