//! Sockets for raw Ethernet frames.
#![allow(
    unsafe_code,
    reason = "no library has a safe constructor for the address of a packet socket"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, SockaddrLike, bind, getsockopt, sendto,
    setsockopt, socket,
    sockopt::{Priority, SocketError},
};
use ring_proto::time::Now;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use thiserror::Error;

use super::arrival::Arrivals;
use super::receive_ring::ReceiveRing;
use super::{Interface, filter, messages};
use crate::clock;
use crate::driver::{Link, ReceiveBatch, Refused, TransmitBatch};

/// The kernel's `TC_PRIO_CONTROL`. Frames with this priority go to the first band of the default queue.
const CONTROL_PRIORITY: i32 = 7;
/// The kernel's `TC_PRIO_INTERACTIVE`. Frames with this priority also go to the first band, and setting this priority
/// needs no privilege.
const INTERACTIVE_PRIORITY: i32 = 6;

/// Socket options that are missing in nix.
mod options {
    // `sockopt_impl` uses the other two macros by their names without a path.
    use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// Hides from the socket all frames that this host sends.
        IgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool
    );
    sockopt_impl!(
        /// The numbers of frames that were received and dropped since the last query.
        Statistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats
    );
}

/// The reason why a packet socket cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The process has no permission.
    #[error(
        "cannot open a packet socket on {interface}: no permission for raw frames (CAP_NET_RAW); \
         use sudo, `sudo setcap cap_net_raw+ep` on the program, or the systemd service"
    )]
    Permission {
        /// Name of the interface.
        interface: String,
    },
    /// The interface was removed after the lookup.
    #[error("cannot open a packet socket on {interface}: the interface was removed")]
    Gone {
        /// Name of the interface.
        interface: String,
    },
    /// The interface carries no Ethernet frames.
    #[error("cannot use {interface}: it is not an Ethernet interface; choose another one")]
    NotEthernet {
        /// Name of the interface.
        interface: String,
    },
    /// The socket cannot be opened for a different reason.
    #[error("cannot open a packet socket on {interface}: {source}")]
    Io {
        /// Name of the interface.
        interface: String,
        /// Error of the system call.
        source: io::Error,
    },
}

/// A packet socket for frames of one EtherType on one interface. The socket receives only frames for this host and
/// broadcasts.
///
/// The socket works again after the interface went down and came up, but not after the interface was removed.
#[derive(Debug)]
pub struct PacketSocket {
    // The order of the fields matters: the ring must be unmapped before the socket is closed.
    ring: ReceiveRing,
    socket: OwnedFd,
    arrivals: Arrivals,
    /// Number of dropped frames, up to the last query.
    drops: u64,
}

impl PacketSocket {
    /// Opens a socket for frames of `ethertype` on `interface`. The interface may be down.
    ///
    /// # Errors
    /// Fails with an [`OpenError`].
    pub fn open(interface: &Interface, ethertype: u16) -> Result<Self, OpenError> {
        let name = || interface.name.clone();
        if !interface.ethernet {
            return Err(OpenError::NotEthernet { interface: name() });
        }
        let arrivals = Arrivals::new();
        match open_bound(interface.index, ethertype) {
            Ok((socket, ring)) => Ok(Self {
                ring,
                socket,
                arrivals,
                drops: 0,
            }),
            Err(source) => Err(match source.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => OpenError::Permission { interface: name() },
                Some(libc::ENODEV | libc::ENXIO) => OpenError::Gone { interface: name() },
                _ => OpenError::Io {
                    interface: name(),
                    source,
                },
            }),
        }
    }

    /// Returns the number of frames that the kernel dropped since the opening of the socket. The kernel drops frames if
    /// this process does not take them in time.
    ///
    /// # Errors
    /// Fails if the socket is broken.
    pub fn kernel_drops(&mut self) -> io::Result<u64> {
        // The kernel resets its count at each query.
        let since = getsockopt(&self.socket, options::Statistics)?.tp_drops;
        self.drops += u64::from(since);
        Ok(self.drops)
    }
}

/// A packet socket that only sends. It receives no frames, so the daemon of a ring does not take it for a rival.
#[derive(Debug)]
pub struct FrameSender(OwnedFd);

impl FrameSender {
    /// Opens a socket.
    ///
    /// # Errors
    /// Fails if the process has no permission, or has too many files open.
    pub fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        prioritize(&socket)?;
        filter::attach_refusal(&socket)?;
        Ok(Self(socket))
    }

    /// Shows other processes that frames of `ethertype` are in use on the interface with this index, as
    /// [`rival_socket_user`](super::rival_socket_user) finds them. The socket still receives no frames. The index 0, of
    /// no interface, ends this.
    ///
    /// # Errors
    /// Fails if the interface does not exist.
    pub fn occupy(&self, index: u32, ethertype: u16) -> io::Result<()> {
        bind(self.0.as_raw_fd(), &address(index, ethertype)?)?;
        Ok(())
    }

    /// Sends a frame on the interface with this index.
    ///
    /// # Errors
    /// Fails if the interface does not exist, is down, or has a full queue.
    pub fn send(&self, index: u32, frame: &[u8]) -> io::Result<()> {
        let address = address(index, 0)?;
        sendto(self.0.as_raw_fd(), frame, &address, MsgFlags::empty())?;
        Ok(())
    }
}

impl AsFd for FrameSender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Opens and binds a socket. All options are set before the socket is bound. An unbound socket receives no frames, so
/// no frame arrives before the filter is set.
fn open_bound(index: u32, ethertype: u16) -> io::Result<(OwnedFd, ReceiveRing)> {
    let socket = socket(
        AddressFamily::Packet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        None,
    )?;
    filter::attach(&socket, index)?;
    // The kernel passes outgoing frames only to sockets for all EtherTypes. So this option is only an additional
    // precaution.
    setsockopt(&socket, options::IgnoreOutgoing, &true)?;
    prioritize(&socket)?;
    let ring = ReceiveRing::new(&socket)?;
    bind(socket.as_raw_fd(), &address(index, ethertype)?)?;
    Ok((socket, ring))
}

/// Gives the frames of a socket priority over other frames of this host.
fn prioritize(socket: &OwnedFd) -> nix::Result<()> {
    // Kernels before 6.0 require CAP_NET_ADMIN for this priority, and the daemon does not have that capability.
    setsockopt(socket, Priority, &CONTROL_PRIORITY)
        .or_else(|_| setsockopt(socket, Priority, &INTERACTIVE_PRIORITY))
}

/// Makes the address for frames of `ethertype` on the interface with this index.
fn address(index: u32, ethertype: u16) -> nix::Result<LinkAddr> {
    let address = libc::sockaddr_ll {
        sll_family: u16::try_from(libc::AF_PACKET).unwrap_or_default(),
        sll_protocol: ethertype.to_be(),
        // No interface has a negative index.
        sll_ifindex: index.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    // SAFETY: a whole `sockaddr_ll` is readable, whatever its family is.
    let address = unsafe { LinkAddr::from_raw((&raw const address).cast(), None) };
    address.ok_or(nix::errno::Errno::EAFNOSUPPORT)
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Link for PacketSocket {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()> {
        batch.clear();
        while let Some(buffer) = batch.next_buffer() {
            let Some((len, since)) = self.ring.take(buffer) else {
                self.arrivals.on_emptied(now);
                break;
            };
            let (now, age) = self.arrivals.age(now, since);
            batch.push(len, (), now, age);
        }
        if batch.is_empty() {
            // The socket has no frame, although the kernel reported it as ready. So it may have an error, for example
            // because the link is down.
            match getsockopt(&self.socket, SocketError)? {
                0 => {}
                error => return Err(io::Error::from_raw_os_error(error)),
            }
        }
        Ok(())
    }

    fn has_message(&self) -> bool {
        self.ring.has_frame()
    }

    fn sent_by(&self, _now: Now) -> Now {
        clock::now()
    }

    fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused> {
        let mut frames = batch.iter();
        let sent = match (frames.next(), frames.next()) {
            (None, _) => return Ok(0),
            (Some((frame, ())), None) => send(&self.socket, frame, SendFlags::DONTWAIT).map(|_| 1),
            (Some(_), Some(_)) => messages::send(self.socket.as_fd(), batch),
        };
        sent.map_err(|error| match error {
            Errno::MSGSIZE => Refused::TooLong,
            other => Refused::Other(other.into()),
        })
    }
}
