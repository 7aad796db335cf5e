//! Sends or receives several datagrams in one system call, and allocates no memory.
//!
//! The kernel may *merge* datagrams: several datagrams of equal length between the same two sockets pass through the
//! kernel as one (UDP_SEGMENT, UDP_GRO). On the wire, they are separate datagrams.
#![allow(
    unsafe_code,
    reason = "no library sends or receives several datagrams with control messages without an allocation"
)]

use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::Duration;

use libc::{c_int, c_uint, cmsghdr, in_addr, in_pktinfo, in6_addr, in6_pktinfo, iovec, mmsghdr};
use nix::errno::Errno;
use rustix::net::{SendFlags, SocketAddrAny, sendto};

use crate::driver::{ReceiveBatch, TransmitBatch};

/// Maximum number of buffers into which one system call receives.
const RECEIVE_MAX: usize = 64;
/// Maximum number of datagrams that one system call sends.
const SEND_MAX: usize = 32;
/// Maximum length of a datagram that is merged with others. Every link of IPv6 can carry this length, and the kernel
/// merges only datagrams that the link can carry.
const MERGED_LEN_MAX: usize = 1_232;
/// Number of bytes for a sender's address. The longest address is an IPv6 address.
const ADDRESS_LEN: usize = size_of::<libc::sockaddr_in6>();
/// Number of bytes for the control messages of a datagram. A timestamp and a length take 56 bytes, and a source and a
/// length take 64 bytes.
const CONTROL_LEN: usize = 64;

const EMPTY_PART: iovec = iovec {
    iov_base: ptr::null_mut(),
    iov_len: 0,
};

/// The control messages of a datagram.
#[derive(Debug, Clone)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_LEN]);

/// The sender and the control messages that the kernel writes for a datagram.
#[derive(Debug, Clone)]
#[repr(C)]
struct Envelope {
    control: Control,
    name: [u8; ADDRESS_LEN],
}

/// A received datagram, or several merged datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Datagram {
    /// Number of bytes in the buffer.
    pub len: usize,
    /// Length of each merged datagram. The last one may be shorter.
    pub part_len: usize,
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
            control: Control([0; CONTROL_LEN]),
            name: [0; ADDRESS_LEN],
        };
        Self {
            envelopes: vec![envelope; RECEIVE_MAX].into_boxed_slice(),
        }
    }

    /// Receives datagrams into the batch's next buffers, without waiting. Calls the function `each` once per buffer, in
    /// order. This function pushes or skips the buffer. Returns whether there may be more datagrams.
    ///
    /// # Errors
    /// `EAGAIN`: there is no datagram. Any other error: the socket has failed.
    pub(super) fn receive<P: Copy>(
        &mut self,
        socket: BorrowedFd<'_>,
        batch: &mut ReceiveBatch<P>,
        mut each: impl FnMut(&mut ReceiveBatch<P>, Datagram),
    ) -> nix::Result<bool> {
        let mut parts = [EMPTY_PART; RECEIVE_MAX];
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
            header.msg_control = envelope.control.0.as_mut_ptr().cast();
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
            let len = header.msg_len as usize;
            let (arrived_at, part_len) = read_control(&header.msg_hdr);
            let datagram = Datagram {
                len,
                part_len: part_len.unwrap_or(len),
                from: sender(&envelope.name),
                arrived_at,
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

/// Returns the values in the control messages of a received header: the arrival time since 1970, and the length of each
/// merged datagram.
fn read_control(header: &libc::msghdr) -> (Duration, Option<usize>) {
    let (mut arrived_at, mut part_len) = (Duration::ZERO, None);
    // SAFETY: the kernel has filled the header and has set the length of its control messages.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !message.is_null() {
        // SAFETY: the pointer is not null, so the header contains a whole control message. The kernel writes a whole
        // value of the message's kind. The alignment of the value is unknown, so it is read unaligned.
        unsafe {
            let data = libc::CMSG_DATA(message);
            match ((*message).cmsg_level, (*message).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    arrived_at = since_1970(data.cast::<libc::timespec>().read_unaligned());
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    part_len = usize::try_from(data.cast::<c_int>().read_unaligned()).ok();
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    (arrived_at, part_len)
}

fn since_1970(at: libc::timespec) -> Duration {
    let seconds = u64::try_from(at.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(at.tv_nsec).unwrap_or_default())
}

/// The source address of datagrams, and the index of its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub ip: IpAddr,
    pub index: u32,
}

/// Sends the messages in order, from this source or from the source that the kernel chooses. If `merges` is set, the
/// kernel gets consecutive messages of equal length to the same destination as one. Returns the number of messages that
/// the kernel accepted. The number is at least one, unless the batch is empty.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    source: Option<Source>,
    merges: bool,
    batch: &TransmitBatch<SocketAddr>,
) -> nix::Result<usize> {
    let mut messages = batch.iter();
    if messages.len() == 1
        && source.is_none()
        && let Some((message, to)) = messages.next()
    {
        let sent = sendto(socket, message, SendFlags::DONTWAIT, &to).map(|_| 1);
        return sent.map_err(|error| Errno::from_raw(error.raw_os_error()));
    }
    let mut sent = 0;
    while messages.len() > 0 {
        match send_some(socket, source, merges, &mut messages) {
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

/// Sends the next messages. Returns two numbers of messages: the number that the kernel accepted, and the number that
/// this function tried to send.
fn send_some<'a>(
    socket: BorrowedFd<'_>,
    source: Option<Source>,
    merges: bool,
    messages: &mut impl Iterator<Item = (&'a [u8], SocketAddr)>,
) -> nix::Result<(usize, usize)> {
    let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let mut names: [SocketAddrAny; SEND_MAX] = std::array::from_fn(|_| nobody.into());
    let mut counts = [0; SEND_MAX];
    let mut parts = [EMPTY_PART; SEND_MAX];
    let (mut tried, mut header_count) = (0, 0);
    // Destination and length of the messages of the last header, if the next message may join them.
    let mut open: Option<(SocketAddr, usize)> = None;
    for ((message, to), part) in messages.take(SEND_MAX).zip(&mut parts) {
        part.iov_base = message.as_ptr().cast_mut().cast();
        part.iov_len = message.len();
        tried += 1;
        let limit = open.filter(|(other, _)| *other == to).map(|(_, len)| len);
        let joins = limit.is_some_and(|len| (1..=len).contains(&message.len()));
        if !joins {
            names[header_count] = to.into();
            header_count += 1;
        }
        counts[header_count - 1] += 1;
        let is_short = joins && limit != Some(message.len());
        let can_continue = merges && !is_short && (1..=MERGED_LEN_MAX).contains(&message.len());
        open = can_continue.then_some((to, message.len()));
    }
    let mut controls = [const { Control([0; CONTROL_LEN]) }; SEND_MAX];
    // SAFETY: the headers contain only integers and pointers, for which zero is valid.
    let mut headers: [mmsghdr; SEND_MAX] = unsafe { mem::zeroed() };
    let mut rest = &mut parts[..];
    let envelopes = names.iter().zip(&mut controls);
    for ((header, count), (name, control)) in headers.iter_mut().zip(counts).zip(envelopes) {
        let own = rest.split_off_mut(..count).unwrap_or_default();
        let part_len = own.first().filter(|_| count > 1).map(|part| part.iov_len);
        let header = &mut header.msg_hdr;
        header.msg_iov = own.as_mut_ptr();
        header.msg_iovlen = count as _;
        header.msg_name = name.as_ptr().cast_mut().cast();
        header.msg_namelen = name.addr_len();
        header.msg_controllen = control.write(source, part_len) as _;
        header.msg_control = control.0.as_mut_ptr().cast();
    }
    // SAFETY: each of the first `header_count` headers points to its messages, its address and its control messages,
    // and has their numbers or lengths. They are in the batch, `parts`, `names` and `controls`, which live until the
    // call returns. The kernel only reads them.
    let accepted = unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            c_uint::try_from(header_count).unwrap_or_default(),
            libc::MSG_DONTWAIT as _, // the type depends on the C library
        )
    };
    let accepted = usize::try_from(Errno::result(accepted)?).unwrap_or_default();
    Ok((counts[..accepted].iter().sum(), tried))
}

impl Control {
    /// Writes the control messages of a header that is sent: its source, and the length of its merged messages. Returns
    /// the number of written bytes.
    fn write(&mut self, source: Option<Source>, part_len: Option<usize>) -> usize {
        let index = source.map_or(0, |source| source.index);
        let mut end = match source.map(|source| source.ip) {
            Some(IpAddr::V4(ip)) => {
                let source = in_pktinfo {
                    ipi_ifindex: c_int::try_from(index).unwrap_or_default(),
                    ipi_spec_dst: in_addr {
                        s_addr: u32::from_ne_bytes(ip.octets()),
                    },
                    ipi_addr: in_addr { s_addr: 0 },
                };
                self.push(0, libc::IPPROTO_IP, libc::IP_PKTINFO, source)
            }
            Some(IpAddr::V6(ip)) => {
                let source = in6_pktinfo {
                    ipi6_addr: in6_addr {
                        s6_addr: ip.octets(),
                    },
                    ipi6_ifindex: index,
                };
                self.push(0, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, source)
            }
            None => 0,
        };
        if let Some(part_len) = part_len.and_then(|len| u16::try_from(len).ok()) {
            end = self.push(end, libc::SOL_UDP, libc::UDP_SEGMENT, part_len);
        }
        end
    }

    /// Writes a control message at `at`, which is the end of the previous one. Returns the end of this one.
    fn push<T: Copy>(&mut self, at: usize, level: c_int, kind: c_int, value: T) -> usize {
        let size = c_uint::try_from(size_of::<T>()).unwrap_or_default();
        // SAFETY: these functions only compute lengths.
        let (space, len) = unsafe { (libc::CMSG_SPACE(size), libc::CMSG_LEN(size)) };
        let end = at + space as usize;
        assert!(end <= CONTROL_LEN, "control messages need more space");
        // SAFETY: there is space up to `end`, and `at` is a multiple of a message's alignment.
        unsafe {
            let message = ptr::from_mut(self).byte_add(at).cast::<cmsghdr>();
            (*message).cmsg_len = len as _;
            (*message).cmsg_level = level;
            (*message).cmsg_type = kind;
            libc::CMSG_DATA(message).cast::<T>().write_unaligned(value);
        }
        end
    }
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
