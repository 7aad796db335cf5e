//! Sends or receives several datagrams in one system call, and allocates no memory.
#![allow(
    unsafe_code,
    reason = "no library receives several datagrams with their arrival times without an allocation"
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

/// Maximum number of datagrams that one system call receives.
const RECEIVE_MAX: usize = 64;
/// Maximum number of datagrams that one system call sends.
const SEND_MAX: usize = 32;
/// Number of bytes for a sender's address. The longest address is an IPv6 address.
const ADDRESS_LEN: usize = size_of::<libc::sockaddr_in6>();
/// Number of bytes for the control messages of a datagram: more than a timestamp takes.
const CONTROL_LEN: usize = 64;

/// The sender and the control messages that the kernel writes for a datagram.
#[derive(Debug, Clone)]
#[repr(C, align(8))]
struct Envelope {
    control: [u8; CONTROL_LEN],
    name: [u8; ADDRESS_LEN],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Datagram {
    /// Number of bytes of the datagram in the buffer.
    pub len: usize,
    /// Sender of the datagram; `None` if the address is neither IPv4 nor IPv6.
    pub from: Option<SocketAddr>,
    /// Time of arrival, since 1970.
    pub arrived_at: Duration,
    /// Whether the buffer was too short for the datagram.
    pub is_cut: bool,
}

/// A receiver of datagrams. Each datagram has its time of arrival if the socket has timestamps enabled.
#[derive(Debug)]
pub(super) struct Receiver {
    envelopes: Box<[Envelope]>,
}

impl Receiver {
    pub(super) fn new() -> Self {
        let envelope = Envelope {
            control: [0; CONTROL_LEN],
            name: [0; ADDRESS_LEN],
        };
        Self {
            envelopes: vec![envelope; RECEIVE_MAX].into_boxed_slice(),
        }
    }

    /// Receives datagrams into the batch's next buffers, without waiting. Calls the function `each` once per datagram,
    /// in order. This function pushes or skips the datagram. Returns whether there may be more datagrams.
    ///
    /// # Errors
    /// `EAGAIN`: there is no datagram. Any other error: the socket has failed.
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
        let mut parts = [nowhere; RECEIVE_MAX];
        // SAFETY: the headers contain only integers and pointers, for which zero is valid.
        let mut headers: [mmsghdr; RECEIVE_MAX] = unsafe { mem::zeroed() };
        let mut header_count = 0;
        let buffers = batch.free_buffers().zip(&mut self.envelopes);
        for ((buffer, envelope), (part, header)) in buffers.zip(parts.iter_mut().zip(&mut headers))
        {
            part.iov_base = buffer.as_mut_ptr().cast();
            part.iov_len = buffer.len();
            let header = &mut header.msg_hdr;
            header.msg_iov = part;
            header.msg_iovlen = 1;
            header.msg_name = envelope.name.as_mut_ptr().cast();
            header.msg_namelen = libc::socklen_t::try_from(ADDRESS_LEN).unwrap_or_default();
            header.msg_control = envelope.control.as_mut_ptr().cast();
            header.msg_controllen = CONTROL_LEN as _;
            header_count += 1;
        }
        // SAFETY: each of the first `header_count` headers points to a buffer, an address and control space, and has
        // their lengths. All of them are in `parts`, `self` and `batch`, which have no other use until the call
        // returns.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                header_count,
                libc::MSG_DONTWAIT as _, // the type depends on the C library
                ptr::null_mut(),
            )
        };
        let received = usize::try_from(Errno::result(received)?).unwrap_or_default();
        for (header, envelope) in headers.iter().zip(&self.envelopes).take(received) {
            let datagram = Datagram {
                len: header.msg_len as usize,
                from: sender(&envelope.name),
                arrived_at: arrival(&header.msg_hdr).unwrap_or_default(),
                is_cut: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            };
            each(batch, datagram);
        }
        Ok(received == header_count as usize)
    }
}

/// Decodes a sender's address in the kernel's format.
fn sender(name: &[u8; ADDRESS_LEN]) -> Option<SocketAddr> {
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

/// Returns the arrival time in the control messages of a header, since 1970.
fn arrival(header: &libc::msghdr) -> Option<Duration> {
    // SAFETY: the kernel has filled the header and has set the length of its control messages.
    let first = unsafe { libc::CMSG_FIRSTHDR(header) };
    if first.is_null() {
        return None;
    }
    // SAFETY: control space that is not empty begins with such a header, and is aligned for it.
    let (level, kind) = unsafe { ((*first).cmsg_level, (*first).cmsg_type) };
    if (level, kind) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return None;
    }
    // SAFETY: the kernel writes a whole `timespec` after such a header. The alignment of the `timespec` is unknown, so
    // it is read unaligned.
    let at = unsafe {
        libc::CMSG_DATA(first)
            .cast::<libc::timespec>()
            .read_unaligned()
    };
    let seconds = u64::try_from(at.tv_sec).ok()?;
    Some(Duration::new(seconds, u32::try_from(at.tv_nsec).ok()?))
}

/// Sends the messages in order. Returns the number of messages that the kernel accepted. The number is at least one,
/// unless the batch is empty.
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

/// The source address of datagrams, and the index of its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub ip: IpAddr,
    pub index: u32,
}

/// Sends the messages as [`send`] does, from this source.
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

/// Sends the next messages. Returns two numbers of messages: the number that the kernel accepted, and the number that
/// this function tried to send.
fn send_some<'a>(
    socket: BorrowedFd<'_>,
    messages: &mut impl Iterator<Item = (&'a [u8], SocketAddr)>,
) -> io::Result<(usize, usize)> {
    let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let mut parts = [IoSlice::new(&[]); SEND_MAX];
    let mut count = 0;
    let mut names: [SocketAddrAny; SEND_MAX] = std::array::from_fn(|_| nobody.into());
    for ((part, name), (message, to)) in parts.iter_mut().zip(&mut names).zip(messages) {
        *part = IoSlice::new(message);
        *name = to.into();
        count += 1;
    }
    let mut envelopes = parts.chunks(1).zip(&names);
    // A datagram has no control messages, but each header needs space for them.
    let mut nothing: [_; SEND_MAX] = std::array::from_fn(|_| SendAncillaryBuffer::default());
    let mut headers = nothing.each_mut().map(|nothing| match envelopes.next() {
        Some((part, name)) => MMsgHdr::new_with_addr(name, part, nothing),
        None => MMsgHdr::new(&[], nothing),
    });
    let sent = sendmmsg(socket, &mut headers[..count], SendFlags::DONTWAIT)?;
    Ok((sent, count))
}

#[cfg(test)]
mod tests {
    use super::{ADDRESS_LEN, sender};

    #[test]
    fn a_senders_address_is_decoded() {
        let mut name = [0; ADDRESS_LEN];
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
