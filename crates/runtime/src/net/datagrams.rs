//! Several datagrams received or sent in one system call, without an allocation.
#![allow(
    unsafe_code,
    reason = "no library receives several datagrams with their times of arrival without an allocation"
)]

use std::io::IoSlice;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::Duration;

use libc::{c_int, in_addr, in_pktinfo, in6_addr, in6_pktinfo, iovec, mmsghdr};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
use rustix::io;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, SocketAddrAny, sendmmsg, sendto};

use crate::driver::{ReceiveBatch, TransmitBatch};

/// Maximum datagrams that one system call receives.
const RECEIVED: usize = 64;
/// Maximum datagrams that one system call sends.
const SENT: usize = 32;
/// Bytes of a sender's address: the longest is an IPv6 one.
const NAME: usize = size_of::<libc::sockaddr_in6>();
/// Bytes for what comes with a datagram: more than its time takes.
const CONTROL: usize = 64;

/// What the kernel writes beside a datagram.
#[derive(Debug, Clone)]
#[repr(C, align(8))]
struct Envelope {
    control: [u8; CONTROL],
    name: [u8; NAME],
}

/// A datagram that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Datagram {
    /// How many bytes of it there are.
    pub len: usize,
    /// Who sent it; `None`: nobody of the internet protocols.
    pub from: Option<SocketAddr>,
    /// When it came, since 1970.
    pub came: Duration,
    /// Its buffer was too short for the rest of it.
    pub is_cut: bool,
}

/// Receives datagrams, with the time of each if the socket was told to note it.
#[derive(Debug)]
pub(super) struct Receiver {
    envelopes: Box<[Envelope]>,
}

impl Receiver {
    pub(super) fn new() -> Self {
        let envelope = Envelope {
            control: [0; CONTROL],
            name: [0; NAME],
        };
        Self {
            envelopes: vec![envelope; RECEIVED].into_boxed_slice(),
        }
    }

    /// Receives datagrams into the batch's next buffers, without waiting, and says of each in order to `each`
    /// what it is, which pushes or skips it. Returns `true` if there may be more.
    ///
    /// # Errors
    /// `EAGAIN`: there is none. Anything else: the socket has failed.
    pub(super) fn receive<P: Copy>(
        &mut self,
        socket: BorrowedFd<'_>,
        batch: &mut ReceiveBatch<P>,
        mut each: impl FnMut(&mut ReceiveBatch<P>, Datagram),
    ) -> nix::Result<bool> {
        let nowhere = iovec {
            iov_base: ptr::null_mut(),
            iov_len: 0,
        };
        let mut parts = [nowhere; RECEIVED];
        // SAFETY: integers and pointers, which may be zero and null.
        let mut headers: [mmsghdr; RECEIVED] = unsafe { mem::zeroed() };
        let mut asked = 0;
        let rooms = batch.vacant().zip(&mut self.envelopes);
        for ((room, envelope), (part, header)) in rooms.zip(parts.iter_mut().zip(&mut headers)) {
            part.iov_base = room.as_mut_ptr().cast();
            part.iov_len = room.len();
            let header = &mut header.msg_hdr;
            header.msg_iov = part;
            header.msg_iovlen = 1;
            header.msg_name = envelope.name.as_mut_ptr().cast();
            header.msg_namelen = libc::socklen_t::try_from(NAME).unwrap_or_default();
            header.msg_control = envelope.control.as_mut_ptr().cast();
            header.msg_controllen = CONTROL as _;
            asked += 1;
        }
        // SAFETY: the first `asked` headers point to a part, a name and a control buffer each, all as long as
        // they say. Those are in `parts`, `self` and `batch`, which nobody else uses until the call returns.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                asked,
                libc::MSG_DONTWAIT,
                ptr::null_mut(),
            )
        };
        let received = usize::try_from(Errno::result(received)?).unwrap_or_default();
        for (header, envelope) in headers.iter().zip(&self.envelopes).take(received) {
            let datagram = Datagram {
                len: header.msg_len as usize,
                from: sender(&envelope.name),
                came: arrival(&header.msg_hdr).unwrap_or_default(),
                is_cut: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            };
            each(batch, datagram);
        }
        Ok(received == asked as usize)
    }
}

/// The sender's address, as the kernel writes it.
fn sender(name: &[u8; NAME]) -> Option<SocketAddr> {
    let [f0, f1, p0, p1, rest @ ..] = *name;
    let family = c_int::from(u16::from_ne_bytes([f0, f1]));
    let port = u16::from_be_bytes([p0, p1]);
    if family == libc::AF_INET {
        let ip: [u8; 4] = *rest.first_chunk()?;
        return Some(SocketAddrV4::new(Ipv4Addr::from(ip), port).into());
    }
    let (flow, rest) = rest.split_first_chunk()?;
    let (ip, rest) = rest.split_first_chunk::<16>()?;
    let (flow, scope) = (
        u32::from_be_bytes(*flow),
        u32::from_ne_bytes(*rest.first_chunk()?),
    );
    let address = SocketAddrV6::new(Ipv6Addr::from(*ip), port, flow, scope);
    (family == libc::AF_INET6).then_some(address.into())
}

/// When the kernel received what came with this header, since 1970.
fn arrival(header: &libc::msghdr) -> Option<Duration> {
    // SAFETY: the kernel has filled the header, and says in it how much of its control buffer.
    let first = unsafe { libc::CMSG_FIRSTHDR(header) };
    if first.is_null() {
        return None;
    }
    // SAFETY: a control buffer that is not empty begins with such a header, and the buffer is aligned for it.
    let (level, kind) = unsafe { ((*first).cmsg_level, (*first).cmsg_type) };
    if (level, kind) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return None;
    }
    // SAFETY: behind such a header the kernel writes a whole time; nothing says how it is aligned.
    let at = unsafe {
        libc::CMSG_DATA(first)
            .cast::<libc::timespec>()
            .read_unaligned()
    };
    let seconds = u64::try_from(at.tv_sec).ok()?;
    Some(Duration::new(seconds, u32::try_from(at.tv_nsec).ok()?))
}

/// Sends the messages in order and returns how many were accepted: at least one, if there is one.
pub(super) fn send(socket: BorrowedFd<'_>, batch: &TransmitBatch<SocketAddr>) -> io::Result<usize> {
    let mut messages = batch.iter();
    if messages.len() == 1
        && let Some((message, to)) = messages.next()
    {
        return sendto(socket, message, SendFlags::DONTWAIT, &to).map(|_| 1);
    }
    let mut sent = 0;
    while messages.len() > 0 {
        match send_some(socket, &mut messages) {
            Ok((count, tried)) => {
                sent += count;
                if count < tried {
                    break;
                }
            }
            Err(_) if sent > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}

/// Where datagrams are sent from: an address, and the number of its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub ip: IpAddr,
    pub index: u32,
}

/// The same as [`send`], from this address.
pub(super) fn send_from(
    socket: BorrowedFd<'_>,
    source: Source,
    batch: &TransmitBatch<SocketAddr>,
) -> io::Result<usize> {
    let mut sent = 0;
    for (message, to) in batch.iter() {
        match send_one_from(socket, source, message, to) {
            Ok(()) => sent += 1,
            Err(_) if sent > 0 => break,
            Err(error) => return Err(io::Errno::from_raw_os_error(error as i32)),
        }
    }
    Ok(sent)
}

fn send_one_from(
    socket: BorrowedFd<'_>,
    source: Source,
    message: &[u8],
    to: SocketAddr,
) -> nix::Result<()> {
    let (four, six);
    let source = match source.ip {
        IpAddr::V4(ip) => {
            four = in_pktinfo {
                ipi_ifindex: c_int::try_from(source.index).unwrap_or_default(),
                ipi_spec_dst: in_addr {
                    s_addr: u32::from_ne_bytes(ip.octets()),
                },
                ipi_addr: in_addr { s_addr: 0 },
            };
            ControlMessage::Ipv4PacketInfo(&four)
        }
        IpAddr::V6(ip) => {
            six = in6_pktinfo {
                ipi6_addr: in6_addr {
                    s6_addr: ip.octets(),
                },
                ipi6_ifindex: source.index,
            };
            ControlMessage::Ipv6PacketInfo(&six)
        }
    };
    sendmsg(
        socket.as_raw_fd(),
        &[IoSlice::new(message)],
        &[source],
        MsgFlags::MSG_DONTWAIT,
        Some(&SockaddrStorage::from(to)),
    )
    .map(drop)
}

/// Sends the next messages; returns how many were accepted, and of how many.
fn send_some<'a>(
    socket: BorrowedFd<'_>,
    messages: &mut impl Iterator<Item = (&'a [u8], SocketAddr)>,
) -> io::Result<(usize, usize)> {
    let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let mut parts = [IoSlice::new(&[]); SENT];
    let mut count = 0;
    let mut names: [SocketAddrAny; SENT] = std::array::from_fn(|_| nobody.into());
    for ((part, name), (message, to)) in parts.iter_mut().zip(&mut names).zip(messages) {
        *part = IoSlice::new(message);
        *name = to.into();
        count += 1;
    }
    let mut envelopes = parts.chunks(1).zip(&names);
    // Nothing goes with a datagram, and yet each header borrows a place for it.
    let mut nothing: [_; SENT] = std::array::from_fn(|_| SendAncillaryBuffer::default());
    let mut headers = nothing.each_mut().map(|nothing| match envelopes.next() {
        Some((part, name)) => MMsgHdr::new_with_addr(name, part, nothing),
        None => MMsgHdr::new(&[], nothing),
    });
    let sent = sendmmsg(socket, &mut headers[..count], SendFlags::DONTWAIT)?;
    Ok((sent, count))
}

#[cfg(test)]
mod tests {
    use super::{NAME, sender};

    #[test]
    fn a_sender_is_read_as_the_kernel_writes_it() {
        let mut name = [0; NAME];
        assert_eq!(sender(&name), None);
        name[..8].copy_from_slice(&[2, 0, 0x12, 0x34, 192, 0, 2, 1]);
        name[..2].copy_from_slice(&2_u16.to_ne_bytes());
        assert_eq!(sender(&name), "192.0.2.1:4660".parse().ok());
        name[..2].copy_from_slice(&10_u16.to_ne_bytes());
        name[4..8].fill(0);
        name[8..24].copy_from_slice(
            &"fe80::1"
                .parse::<std::net::Ipv6Addr>()
                .expect("one")
                .octets(),
        );
        name[24..].copy_from_slice(&7_u32.to_ne_bytes());
        assert_eq!(sender(&name), "[fe80::1%7]:4660".parse().ok());
    }
}
