//! Datagrams over UDP, as a link of the driver.

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

/// Options of sockets that nix does not know.
mod options {
    // The macro calls the other one by its bare name.
    use nix::{getsockopt_impl, sockopt_impl};

    /// `SO_MEMINFO`, which libc does not know.
    const MEMINFO: libc::c_int = 55;
    /// What it tells of, among that how many were dropped.
    pub(super) type Memory = [u32; libc::SK_MEMINFO_DROPS as usize + 1];

    sockopt_impl!(
        /// What the socket uses and has used, in numbers.
        MemoryInfo, GetOnly, libc::SOL_SOCKET, MEMINFO, Memory
    );
}

/// Datagrams to and from one address.
#[derive(Debug)]
pub struct UdpLink {
    socket: Socket,
    source: Option<Source>,
    arrivals: Arrivals,
    receiver: Receiver,
    /// Datagrams that were longer than their buffers.
    cut: u64,
    /// Datagrams that the kernel has dropped, up to the last time that it was asked.
    drops: u64,
}

/// What a link is bound to, and how much of what it is sent the kernel keeps for it.
#[derive(Debug, Clone, Default)]
pub struct UdpOptions {
    /// Everything goes through this interface alone, by its name and number; datagrams to a multicast group
    /// as well.
    pub interface: Option<(String, u32)>,
    /// Everything is sent from this address; otherwise from the one that the kernel chooses for each destination, which
    /// may be another one of the interface's.
    pub source: Option<IpAddr>,
    /// Others of this machine may have the same port.
    pub shared: bool,
    /// Multicast groups to receive from, of the address's kind and on the interface named. The address is then
    /// the unspecified one: a datagram to a group is for no other.
    pub groups: Vec<IpAddr>,
    /// Bytes of datagrams that may wait to be received, as the kernel counts them: each costs some hundred more
    /// than it has. Who may not exceed the system's limit (`net.core.rmem_max`) gets that.
    pub receive_buffer: Option<usize>,
    /// The same for datagrams that wait to be sent (`net.core.wmem_max`).
    pub send_buffer: Option<usize>,
}

impl UdpLink {
    /// Binds an address; broadcasts may be sent from it.
    ///
    /// # Errors
    /// The address is not this machine's, or in use; the interface is gone; a group is none, or not of the
    /// address's kind; too many files are open.
    pub fn bind(address: SocketAddr, options: &UdpOptions) -> io::Result<Self> {
        let interface = options.interface.as_ref();
        let name = interface.map(|(name, _)| name.as_str());
        let socket = internet::socket(address, Type::DGRAM, Protocol::UDP, name)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        } else {
            socket.set_broadcast(true)?;
        }
        use_groups(&socket, address, options)?;
        size_buffers(&socket, options)?;
        socket.set_reuse_address(options.shared)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        let arrivals = Arrivals::new();
        socket.bind(&address.into())?;
        let index = interface.map_or(0, |&(_, index)| index);
        Ok(Self {
            socket,
            source: options.source.map(|ip| Source { ip, index }),
            arrivals,
            receiver: Receiver::new(),
            cut: 0,
            drops: 0,
        })
    }

    /// Its address.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        internet::address(&self.socket.local_addr()?)
    }

    /// How many datagrams the kernel has dropped because its buffer for this socket was full, since that was
    /// bound.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn kernel_drops(&mut self) -> io::Result<u64> {
        let [.., drops] = getsockopt(&self.socket, options::MemoryInfo)?;
        // The kernel counts in 32 bits.
        let known = self.drops & u64::from(u32::MAX);
        self.drops += u64::from(drops.wrapping_sub(u32::try_from(known).unwrap_or_default()));
        Ok(self.drops)
    }

    /// How many datagrams were dropped because they were longer than the batch's buffers.
    pub const fn cut(&self) -> u64 {
        self.cut
    }

    /// How many bytes of datagrams may wait to be received, and how many to be sent.
    ///
    /// # Errors
    /// The system does not say.
    pub fn buffers(&self) -> io::Result<(usize, usize)> {
        let (receive, send) = (
            self.socket.recv_buffer_size()?,
            self.socket.send_buffer_size()?,
        );
        // The kernel says twice what it was asked for.
        Ok((receive / 2, send / 2))
    }
}

/// Sends to multicast groups through the interface, and receives from those that are asked for.
fn use_groups(socket: &Socket, address: SocketAddr, options: &UdpOptions) -> io::Result<()> {
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

/// Makes the buffers as large as is asked for, if this process may, or else as large as any process may.
fn size_buffers(socket: &Socket, options: &UdpOptions) -> io::Result<()> {
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
                let (then, age) = arrivals.age(latest, datagram.came);
                latest = then;
                batch.push(datagram.len, from, then, age);
            });
            match received {
                Ok(true) | Err(Errno::EINTR) => {}
                Ok(false) | Err(Errno::EAGAIN) => {
                    arrivals.emptied(now);
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn left_by(&self, _now: Now) -> Now {
        clock::now()
    }

    fn send(&mut self, batch: &TransmitBatch<SocketAddr>) -> Result<usize, Refused> {
        let socket = self.socket.as_fd();
        let sent = match self.source {
            Some(source) => datagrams::send_from(socket, source, batch),
            None => datagrams::send(socket, batch),
        };
        sent.map_err(|error| match error {
            rustix::io::Errno::MSGSIZE => Refused::TooLong,
            other => Refused::Other(other.into()),
        })
    }
}
