//! Datagrams over UDP, as a link of the driver.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;
use ring_proto::time::Now;
use socket2::{Protocol, Socket, Type};

use super::arrival::Arrivals;
use super::internet;
use crate::driver::{Link, ReceiveBatch, Refused, TransmitBatch};

/// Datagrams to and from one address.
#[derive(Debug)]
pub struct UdpLink {
    socket: Socket,
    arrivals: Arrivals,
    control: Vec<u8>,
}

/// What a link is bound to.
#[derive(Debug, Clone)]
pub struct UdpOptions {
    /// Everything goes through this interface alone, by its name and number; datagrams to a multicast group
    /// as well.
    pub interface: Option<(String, u32)>,
    /// Others of this machine may have the same port.
    pub shared: bool,
}

impl UdpLink {
    /// Binds an address; broadcasts may be sent from it.
    ///
    /// # Errors
    /// The address is not this machine's, or in use; the interface is gone; too many files are open.
    pub fn bind(address: SocketAddr, options: &UdpOptions) -> io::Result<Self> {
        let interface = options.interface.as_ref();
        let name = interface.map(|(name, _)| name.as_str());
        let socket = internet::socket(address, Type::DGRAM, Protocol::UDP, name)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
            if let Some((_, number)) = interface {
                socket.set_multicast_if_v6(*number)?;
            }
        } else {
            socket.set_broadcast(true)?;
        }
        socket.set_reuse_address(options.shared)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        socket.bind(&address.into())?;
        Ok(Self {
            socket,
            arrivals: Arrivals::new(),
            control: cmsg_space!(TimeSpec),
        })
    }

    /// Its address.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        internet::address(&self.socket.local_addr()?)
    }

    /// The next datagram: its length, or that of as much as there is room for, who sent it, and when it came,
    /// since 1970. `None`: there is none.
    fn take(&mut self, room: &mut [u8]) -> io::Result<Option<(usize, SocketAddr, Duration)>> {
        let mut parts = [IoSliceMut::new(room)];
        loop {
            let fd = self.socket.as_raw_fd();
            let control = Some(&mut self.control[..]);
            let flags = MsgFlags::MSG_DONTWAIT;
            let message = match recvmsg::<SockaddrStorage>(fd, &mut parts, control, flags) {
                Ok(message) => message,
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let Some(from) = message.address.as_ref().and_then(sender) else {
                continue;
            };
            let came = message.cmsgs()?.find_map(|part| match part {
                ControlMessageOwned::ScmTimestampns(at) => Some(Duration::from(at)),
                _ => None,
            });
            return Ok(Some((message.bytes, from, came.unwrap_or_default())));
        }
    }
}

fn sender(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in();
    let v6 = address.as_sockaddr_in6();
    v4.map(|&v4| SocketAddrV4::from(v4).into())
        .or(v6.map(|&v6| SocketAddrV6::from(v6).into()))
}

impl AsFd for UdpLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Link<SocketAddr> for UdpLink {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<SocketAddr>) -> io::Result<()> {
        batch.clear();
        while let Some(room) = batch.next_buffer() {
            let Some((len, from, came)) = self.take(room)? else {
                self.arrivals.emptied(now);
                break;
            };
            let (now, age) = self.arrivals.age(now, came);
            batch.push(len, from, now, age);
        }
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch<SocketAddr>) -> Result<usize, Refused> {
        for (sent, (message, to)) in batch.iter().enumerate() {
            let outcome = self.socket.send_to(message, &to.into());
            match outcome {
                Ok(_) => {}
                Err(_) if sent > 0 => return Ok(sent),
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                    return Err(Refused::TooLong);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(batch.len())
    }
}
