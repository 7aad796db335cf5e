//! Records every IP packet that a node sends, and reassembles datagrams and connections.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, recvfrom, setsockopt, socket,
    sockopt,
};
use ring_segment::{Segment, limit, write_pcap};

/// Longest time until the recording thread notices that it should end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Size of the receive buffer. It can hold the packets of a few seconds in which the thread does not read.
const BUFFER_LEN: usize = 64 << 20;
/// Maximum length of a frame. With segmentation offload, an interface may receive a segment of this length as one
/// frame.
const FRAME_LEN_MAX: usize = 1 << 17;
const ETHERNET_HEADER_LEN: usize = 14;
const TCP: u8 = 6;
const UDP: u8 = 17;
const FIN: u8 = 1;
const SYN: u8 = 2;

#[derive(Debug, Clone)]
struct Packet {
    at: Duration,
    node: usize,
    bytes: Vec<u8>,
}

/// The socket that receives the packets of all links, and the packets that were read from it.
struct Receiver {
    socket: OwnedFd,
    /// The node at each port of the hub, by the index of the port's interface.
    ports: HashMap<usize, usize>,
    packets: Mutex<Vec<Packet>>,
}

/// A recording of each node's link, at the hub's end of the link.
pub(crate) struct Record {
    receiver: Arc<Receiver>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

/// A datagram from or to the protocol's port.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub at: Duration,
    pub node: usize,
    pub from: IpAddr,
    pub from_port: u16,
    pub to: IpAddr,
    pub to_port: u16,
    pub bytes: Vec<u8>,
}

/// A connection, and the node that opened it.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub giver: Side,
    pub candidate: Side,
}

/// Data that one end of a connection sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Side {
    pub bytes: Vec<u8>,
    /// Time of the FIN or the first RST of this end. Later packets do not count, because a kernel answers a repeated
    /// segment with a reset packet.
    pub ended: Option<Duration>,
    first: Option<u32>,
    parts: BTreeMap<u32, Vec<u8>>,
    end: Option<(u32, Duration)>,
}

impl Record {
    pub(crate) fn start(segment: &Segment) -> Result<Self> {
        let count = segment.nodes().len();
        let receiver = Arc::new(segment.hub().run(|| Receiver::open(count))??);
        let over = Arc::default();
        let (reader, end) = (Arc::clone(&receiver), Arc::clone(&over));
        let thread = thread::Builder::new()
            .name("record".to_owned())
            .spawn(move || reader.run(&end))?;
        Ok(Self {
            receiver,
            over,
            thread: Some(thread),
        })
    }

    /// Returns all packets until now. On a busy machine, the thread may not have read the last packets yet.
    fn packets(&self) -> Vec<Packet> {
        if let Err(error) = self.receiver.read() {
            eprintln!("the record is not complete: {error:#}");
        }
        self.receiver.lock().clone()
    }

    /// Writes all packets to a file that Wireshark reads.
    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let packets = self.packets();
        write_pcap(path, packets.iter().map(|it| (it.at, &it.bytes[..])))
    }

    /// Returns all datagrams to a port, in order.
    pub(crate) fn datagrams(&self, port: u16) -> Vec<Sent> {
        let mut all = self.datagrams_both_ways(port);
        all.retain(|sent| sent.to_port == port);
        all
    }

    /// Returns all datagrams to or from a port, in order.
    pub(crate) fn datagrams_both_ways(&self, port: u16) -> Vec<Sent> {
        let packets = self.packets();
        let all = packets.iter().filter_map(|packet| {
            let (from, to, body) = transport(&packet.bytes, UDP)?;
            let number = |at: usize| -> Option<u16> {
                Some(u16::from_be_bytes(body.get(at..at + 2)?.try_into().ok()?))
            };
            let (from_port, to_port, length) = (number(0)?, number(2)?, usize::from(number(4)?));
            [from_port, to_port].contains(&port).then(|| Sent {
                at: packet.at,
                node: packet.node,
                from,
                from_port,
                to,
                to_port,
                bytes: body.get(8..length).unwrap_or_default().to_vec(),
            })
        });
        all.collect()
    }

    /// Returns all connections, in the order of their beginnings.
    pub(crate) fn streams(&self) -> Vec<Stream> {
        let mut streams: Vec<Stream> = Vec::new();
        let mut known: HashMap<(SocketAddr, SocketAddr), (usize, bool)> = HashMap::new();
        for packet in self.packets() {
            let Some((from, to, body)) = transport(&packet.bytes, TCP) else {
                continue;
            };
            let Some(head) = body.get(..20) else { continue };
            let port = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
            let (from, to) = (SocketAddr::new(from, port(0)), SocketAddr::new(to, port(2)));
            let (flags, number) = (
                head[13],
                u32::from_be_bytes([head[4], head[5], head[6], head[7]]),
            );
            if flags & SYN != 0
                && flags & 0x10 == 0
                && known.get(&(from, to)).is_none_or(|&(at, _)| {
                    let stream: &Stream = &streams[at];
                    stream.giver.first != Some(number.wrapping_add(1))
                })
            {
                known.insert((from, to), (streams.len(), true));
                known.insert((to, from), (streams.len(), false));
                streams.push(Stream {
                    from,
                    to,
                    giver: Side::default(),
                    candidate: Side::default(),
                });
            }
            let Some(&(at, is_giver)) = known.get(&(from, to)) else {
                continue;
            };
            let partition = if is_giver {
                &mut streams[at].giver
            } else {
                &mut streams[at].candidate
            };
            let header = usize::from(head[12] >> 4) * 4;
            partition.take(
                packet.at,
                number,
                flags,
                body.get(header..).unwrap_or_default(),
            );
        }
        for stream in &mut streams {
            stream.giver.join();
            stream.candidate.join();
        }
        streams
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(Ok(Err(error))) = self.thread.take().map(JoinHandle::join) {
            eprintln!("the record ended early: {error:#}");
        }
    }
}

impl Side {
    fn take(&mut self, at: Duration, number: u32, flags: u8, bytes: &[u8]) {
        if flags & SYN != 0 {
            self.first = Some(number.wrapping_add(1));
        }
        let Some(first) = self.first else { return };
        let offset = number.wrapping_sub(first);
        if flags & SYN == 0 && !bytes.is_empty() {
            let part = self.parts.entry(offset).or_default();
            if part.len() < bytes.len() {
                bytes.clone_into(part);
            }
        }
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        if flags & FIN != 0 && self.end.is_none() {
            self.end = Some((offset.wrapping_add(length), at));
        }
    }

    /// Joins the bytes up to the first gap. The end of the stream counts only if no bytes are missing before it.
    fn join(&mut self) {
        for (&offset, part) in &self.parts {
            let known = self.bytes.len();
            match known.checked_sub(offset as usize) {
                Some(again) => self.bytes.extend(part.get(again..).unwrap_or_default()),
                None => return,
            }
        }
        let whole = |&(end, _): &(u32, Duration)| end as usize == self.bytes.len();
        self.ended = self.end.filter(whole).map(|(_, at)| at);
    }
}

/// Opens a socket for all packets of the hub. Returns the socket, and the node of each interface.
impl Receiver {
    fn open(count: usize) -> Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(
            AddressFamily::Packet,
            SockType::Raw,
            flags,
            SockProtocol::EthAll,
        )?;
        if setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_LEN).is_err() {
            setsockopt(&socket, sockopt::RcvBuf, &BUFFER_LEN)?;
        }
        let mut ports = HashMap::new();
        for node in 0..count {
            let index = if_nametoindex(format!("p{node}").as_str()).context("a port is missing")?;
            ports.insert(usize::try_from(index)?, node);
        }
        Ok(Self {
            socket,
            ports,
            packets: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Packet>> {
        self.packets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, over: &AtomicBool) -> Result<()> {
        while !over.load(Ordering::Relaxed) {
            limit::is_readable(self.socket.as_fd(), Instant::now() + POLL_INTERVAL);
            self.read()?;
        }
        Ok(())
    }

    /// Reads until the socket is empty.
    fn read(&self) -> Result<()> {
        const OUTGOING: u8 = 4;
        let mut packets = self.lock();
        let mut room = vec![0; FRAME_LEN_MAX];
        loop {
            let (length, from) = match recvfrom::<LinkAddr>(self.socket.as_raw_fd(), &mut room) {
                Ok(received) => received,
                Err(Errno::EAGAIN) => return Ok(()),
                Err(Errno::EINTR | Errno::ENETDOWN) => continue,
                Err(error) => return Err(error.into()),
            };
            ensure!(length < FRAME_LEN_MAX, "the recording cut a frame off");
            let Some(from) = from.filter(|from| from.pkttype() != OUTGOING) else {
                continue;
            };
            if let Some(&node) = self.ports.get(&from.ifindex()) {
                packets.push(Packet {
                    at: ring_segment::now(),
                    node,
                    bytes: room[..length].to_vec(),
                });
            }
        }
    }
}

/// If the packet in a frame has this protocol, returns the packet's addresses and body.
fn transport(frame: &[u8], protocol: u8) -> Option<(IpAddr, IpAddr, &[u8])> {
    let ip = frame.get(ETHERNET_HEADER_LEN..)?;
    match frame.get(12..ETHERNET_HEADER_LEN)? {
        [0x08, 0x00] => {
            let length = usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?]));
            // The length field is 0 in a piece that is too long for the field.
            let ip = if length == 0 { ip } else { ip.get(..length)? };
            let header = usize::from(ip[0] & 0x0f) * 4;
            let address = |at: usize| -> Option<IpAddr> {
                Some(<[u8; 4]>::try_from(ip.get(at..at + 4)?).ok()?.into())
            };
            (*ip.get(9)? == protocol).then_some(())?;
            Some((address(12)?, address(16)?, ip.get(header..)?))
        }
        [0x86, 0xdd] => {
            let address = |at: usize| -> Option<IpAddr> {
                let octets = <[u8; 16]>::try_from(ip.get(at..at + 16)?).ok()?;
                Some(Ipv6Addr::from(octets).into())
            };
            let length = usize::from(u16::from_be_bytes([*ip.get(4)?, *ip.get(5)?]));
            (*ip.get(6)? == protocol).then_some(())?;
            let body = ip.get(40..)?;
            let body = if length == 0 {
                body
            } else {
                body.get(..length)?
            };
            Some((address(8)?, address(24)?, body))
        }
        _ => None,
    }
}
