//! A link of the driver for UDP datagrams.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use ring_proto::time::Now;
use socket2::{InterfaceIndexOrAddress, Protocol, Socket, Type};

use super::arrival::Arrivals;
use super::datagrams::{self, Receiver, Source};
use super::internet;
use crate::clock;
use crate::driver::{Link, Quota, ReceiveBatch, Refused, TransmitBatch, datagrams as kind};

/// Socket options that are missing in nix.
mod options {
    // `sockopt_impl` uses the other macro by its name without a path.
    use nix::{getsockopt_impl, sockopt_impl};

    /// `SO_MEMINFO`. It is missing in libc.
    const MEMINFO: libc::c_int = 55;
    /// The values of `SO_MEMINFO`. One of them is the number of dropped datagrams.
    pub(super) type Memory = [u32; libc::SK_MEMINFO_DROPS as usize + 1];

    sockopt_impl!(
        /// The memory that the socket uses, and the number of dropped datagrams.
        MemoryInfo, GetOnly, libc::SOL_SOCKET, MEMINFO, Memory
    );
}

/// A link for datagrams to and from one address.
#[derive(Debug)]
pub struct UdpLink {
    socket: Socket,
    source: Option<Source>,
    arrivals: Arrivals,
    receiver: Receiver,
    /// Whether the kernel may get several datagrams as one.
    merges: bool,
    /// Number of datagrams that were longer than their buffers.
    cut: u64,
    /// Number of datagrams that the kernel dropped, up to the last query.
    drops: u64,
}

/// The address and interface of a link, and the sizes of its buffers.
#[derive(Debug, Clone, Default)]
pub struct UdpOptions {
    /// Name and index of the only interface to use. Datagrams to a multicast group also use this interface.
    pub interface: Option<(String, u32)>,
    /// Source address of all datagrams. If the address is `None`, the kernel chooses a source address for each
    /// destination. The address may be any address of the interface.
    pub source: Option<IpAddr>,
    /// Whether other sockets of this machine may use the same port.
    pub shared: bool,
    /// Multicast groups from which the socket receives. The groups have the family of the bound address. The socket
    /// joins the groups on the given interface. With groups, the socket must be bound to the unspecified address,
    /// because a socket with a different address receives no datagrams to a group.
    pub groups: Vec<IpAddr>,
    /// Whether datagrams of equal length between the same two sockets may pass through the kernel as one. This needs
    /// less processor time. The socket must receive into [batches for merged datagrams](kind::merged_receive_batch).
    pub merges: bool,
    /// Requested size of the receive buffer in bytes, as the kernel counts them: each datagram needs some hundred bytes
    /// more than its length. If the process may not exceed the system's limit (`net.core.rmem_max`), a larger request
    /// gives a buffer of the size of the limit.
    pub receive_buffer: Option<usize>,
    /// Requested size of the send buffer, in bytes. The kernel counts in the same way. The system's limit for this size
    /// is `net.core.wmem_max`.
    pub send_buffer: Option<usize>,
}

impl UdpLink {
    /// Binds an address. The socket may send broadcasts.
    ///
    /// # Errors
    /// Fails if the address does not belong to this machine or is in use. Also fails if the interface does not exist, a
    /// group is not a multicast address of the same family, or too many files are open.
    pub fn bind(address: SocketAddr, options: &UdpOptions) -> io::Result<Self> {
        let interface = options.interface.as_ref();
        let name = interface.map(|(name, _)| name.as_str());
        let socket = internet::open_socket(address, Type::DGRAM, Protocol::UDP, name)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        } else {
            socket.set_broadcast(true)?;
        }
        set_up_multicast(&socket, address, options)?;
        set_buffer_sizes(&socket, options)?;
        socket.set_reuse_address(options.shared)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        // A kernel before 5.0 merges no received datagrams. A kernel before 4.18 merges no sent datagrams, and would
        // send them as one long datagram.
        if options.merges {
            let _ = setsockopt(&socket, sockopt::UdpGroSegment, &true);
        }
        let merges = options.merges && getsockopt(&socket, sockopt::UdpGsoSegment).is_ok();
        let arrivals = Arrivals::new();
        socket.bind(&address.into())?;
        let index = interface.map_or(0, |&(_, index)| index);
        Ok(Self {
            socket,
            source: options.source.map(|ip| Source { ip, index }),
            arrivals,
            receiver: Receiver::new(),
            merges,
            cut: 0,
            drops: 0,
        })
    }

    /// Returns the address of the socket.
    ///
    /// # Errors
    /// Fails if the system call fails.
    pub fn address(&self) -> io::Result<SocketAddr> {
        internet::address(&self.socket.local_addr()?)
    }

    /// Returns the number of datagrams that the kernel dropped since the socket was bound, because the socket's buffer
    /// was full.
    ///
    /// # Errors
    /// Fails if the system call fails.
    pub fn kernel_drops(&mut self) -> io::Result<u64> {
        let [.., drops] = getsockopt(&self.socket, options::MemoryInfo)?;
        // The kernel's counter has only 32 bits.
        let known = self.drops & u64::from(u32::MAX);
        self.drops += u64::from(drops.wrapping_sub(u32::try_from(known).unwrap_or_default()));
        Ok(self.drops)
    }

    /// Returns the number of datagrams that were dropped because they were longer than the batch's buffers.
    pub const fn cut(&self) -> u64 {
        self.cut
    }

    /// Returns the sizes of the receive buffer and the send buffer, in bytes.
    ///
    /// # Errors
    /// Fails if the system call fails.
    pub fn buffers(&self) -> io::Result<(usize, usize)> {
        let (receive, send) = (
            self.socket.recv_buffer_size()?,
            self.socket.send_buffer_size()?,
        );
        // The kernel reports twice the requested size.
        Ok((receive / 2, send / 2))
    }
}

/// Makes the socket send to multicast groups through the interface. Joins the given groups.
fn set_up_multicast(socket: &Socket, address: SocketAddr, options: &UdpOptions) -> io::Result<()> {
    let number = options.interface.as_ref().map_or(0, |&(_, number)| number);
    if number != 0 {
        if address.is_ipv6() {
            socket.set_multicast_if_v6(number)?;
        } else {
            let any = &std::net::Ipv4Addr::UNSPECIFIED;
            rustix::net::sockopt::set_ip_multicast_if_with_ifindex(socket, any, any, number)?;
        }
    }
    for group in &options.groups {
        match group {
            IpAddr::V4(group) => {
                let interface = InterfaceIndexOrAddress::Index(number);
                socket.join_multicast_v4_n(group, &interface)?;
            }
            IpAddr::V6(group) => socket.join_multicast_v6(group, number)?,
        }
    }
    Ok(())
}

/// Sets the buffers to the requested sizes. Without a privilege, the sizes are at most the system's limits.
fn set_buffer_sizes(socket: &Socket, options: &UdpOptions) -> io::Result<()> {
    if let Some(bytes) = options.receive_buffer {
        setsockopt(socket, sockopt::RcvBufForce, &bytes)
            .or_else(|_| setsockopt(socket, sockopt::RcvBuf, &bytes))?;
    }
    if let Some(bytes) = options.send_buffer {
        setsockopt(socket, sockopt::SndBufForce, &bytes)
            .or_else(|_| setsockopt(socket, sockopt::SndBuf, &bytes))?;
    }
    Ok(())
}

impl AsFd for UdpLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Link<SocketAddr> for UdpLink {
    const QUOTA: Quota = kind::QUOTA;

    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<SocketAddr>) -> io::Result<()> {
        batch.clear();
        let Self {
            socket,
            arrivals,
            receiver,
            cut,
            ..
        } = self;
        let mut latest = now;
        while !batch.is_full() {
            let received = receiver.receive(socket.as_fd(), batch, |batch, datagram| {
                *cut += u64::from(datagram.is_cut);
                let Some(from) = datagram.from.filter(|_| !datagram.is_cut) else {
                    return batch.skip();
                };
                let (then, age) = arrivals.age(latest, datagram.arrived_at);
                latest = then;
                *cut += batch.push_parts(datagram.len, datagram.part_len, from, then, age);
            });
            match received {
                Ok(true) | Err(Errno::EINTR) => {}
                Ok(false) | Err(Errno::EAGAIN) => {
                    arrivals.on_emptied(now);
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn sent_by(&self, _now: Now) -> Now {
        clock::now()
    }

    fn send(&mut self, batch: &TransmitBatch<SocketAddr>) -> Result<usize, Refused> {
        let (socket, source) = (self.socket.as_fd(), self.source);
        let mut sent = datagrams::send(socket, source, self.merges, batch);
        if self.merges && sent.is_err_and(is_merge_error) {
            sent = datagrams::send(socket, source, false, batch);
            // If both attempts fail, the reason is the first message.
            self.merges = sent.is_err();
        }
        sent.map_err(|error| match error {
            Errno::EMSGSIZE => Refused::TooLong,
            other => Refused::Other(other.into()),
        })
    }
}

/// Whether the kernel may return this error because it cannot merge datagrams to a destination.
const fn is_merge_error(error: Errno) -> bool {
    matches!(error, Errno::EINVAL | Errno::EIO | Errno::EMSGSIZE)
}

#[cfg(test)]
#[path = "udp_tests.rs"]
mod tests;
