//! Watches all network interfaces for changes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

/// Maximum number of messages that one [`drain`](InterfaceWatch::drain) takes. With this limit, a host on which
/// thousands of interfaces are created does not delay the loop.
const MESSAGES_PER_DRAIN: usize = 64;

/// A watch on all interfaces of this network namespace. The watch notices when an interface, or an address of an
/// interface, was added, removed or changed. The watch does not report the kind of the change. The caller must look the
/// interface up after each change. So lost and reordered messages do no harm.
#[derive(Debug)]
pub struct InterfaceWatch {
    socket: OwnedFd,
}

impl InterfaceWatch {
    /// Starts the watch. A caller must look the interface up after this call. Otherwise it could miss a change.
    ///
    /// # Errors
    /// Fails if the kernel refuses the rtnetlink socket.
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

    /// Takes all waiting messages. Returns whether there were any messages. If there were, an interface may have
    /// changed.
    ///
    /// # Errors
    /// Fails if the socket is broken.
    pub fn drain(&mut self) -> io::Result<bool> {
        let mut has_changed = false;
        // The buffer is too short for a message, but this function does not need the contents.
        let mut message = [0; 16];
        for _ in 0..MESSAGES_PER_DRAIN {
            match recv(
                self.socket.as_raw_fd(),
                &mut message,
                MsgFlags::MSG_DONTWAIT,
            ) {
                // ENOBUFS means that more messages arrived than the socket could hold.
                Ok(_) | Err(Errno::ENOBUFS) => has_changed = true,
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(has_changed)
    }
}

impl AsFd for InterfaceWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
