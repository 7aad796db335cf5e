//! A host that hears all packets of a segment, and sends packets with forged addresses.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use pnet::datalink::MacAddr;

use crate::limit::WAIT_LIMIT;
use crate::packet_socket::RawSocket;
use crate::{NetNs, Node, Segment, checksum, frame};

const IPV4: u16 = 0x0800;
const ETHERNET_HEADER_LEN: usize = 14;
const IP_HEADER_LEN: usize = 20;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Time in which a node reads the bytes of a connection before the connection is closed.
const CONNECTION_TIME: Duration = Duration::from_millis(5);

/// A host without a daemon.
#[derive(Debug)]
pub struct Eavesdropper {
    ears: RawSocket,
    mouth: Option<RawSocket>,
    ns: NetNs,
}

/// The payload of a datagram, or all bytes that one side of a connection sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overheard {
    pub from: SocketAddrV4,
    pub to: SocketAddrV4,
    pub bytes: Vec<u8>,
}

/// An address of a node, with the address of its interface.
pub type Place = (MacAddr, SocketAddrV4);

impl Eavesdropper {
    /// Hears all packets of the segment at its hub.
    pub fn at_hub(segment: &Segment) -> Result<Self> {
        Ok(Self {
            ears: listen(segment.hub())?,
            mouth: None,
            ns: segment.hub().clone(),
        })
    }

    /// Hears all packets of the segment at a node, because the bridge no longer learns addresses. The eavesdropper can
    /// also send packets.
    pub fn at(segment: &Segment, node: &Node) -> Result<Self> {
        let ports = 0..segment.nodes().len();
        let ports = ports.map(|at| format!("link set p{at} type bridge_slave learning off\n"));
        segment.hub().ip(&ports.collect::<String>())?;
        Ok(Self {
            ears: listen(node.ns())?,
            mouth: Some(node.ns().run(|| RawSocket::send_only("eth0"))??),
            ns: node.ns().clone(),
        })
    }

    /// Returns the frames since the last call.
    pub fn hear(&self) -> Result<Vec<Vec<u8>>> {
        let mut frames = Vec::new();
        while let Some(received) = self.ears.try_receive()? {
            frames.push(received.bytes);
        }
        Ok(frames)
    }

    pub fn send_frame(&self, frame: &[u8]) -> Result<()> {
        let mouth = self.mouth.as_ref();
        mouth.map_or(Ok(()), |mouth| mouth.send(frame))
    }

    /// Sends a datagram with any source address.
    pub fn send_datagram(&self, from: Place, to: Place, payload: &[u8]) -> Result<()> {
        let mut packet = vec![0x45, 0];
        let ip_len = u16::try_from(IP_HEADER_LEN + 8 + payload.len())?;
        packet.extend(ip_len.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, UDP, 0, 0]);
        packet.extend(from.1.ip().octets());
        packet.extend(to.1.ip().octets());
        let sum = checksum::of_header(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        let udp_len = u16::try_from(8 + payload.len())?;
        for field in [from.1.port(), to.1.port(), udp_len, 0] {
            packet.extend(field.to_be_bytes());
        }
        packet.extend(payload);
        let mut frame = frame(to.0, from.0, IPV4, &packet);
        checksum::complete(&mut frame);
        self.send_frame(&frame)
    }

    /// Sends bytes on a new connection to a node, and then ends the stream. The node may reset the connection.
    pub fn open(&self, to: SocketAddrV4, bytes: &[u8]) -> Result<()> {
        let connect = || TcpStream::connect_timeout(&SocketAddr::V4(to), WAIT_LIMIT);
        if let Ok(mut stream) = self.ns.run(connect)? {
            let _ = stream.write_all(bytes);
            let _ = stream.shutdown(Shutdown::Write);
            thread::sleep(CONNECTION_TIME);
        }
        Ok(())
    }
}

fn listen(ns: &NetNs) -> Result<RawSocket> {
    ns.run(|| RawSocket::on_all(None))?
}

/// Returns the addresses and the body of a packet of this protocol.
fn packet(frame: &[u8], protocol: u8) -> Option<(SocketAddrV4, SocketAddrV4, &[u8])> {
    let ip = frame.get(ETHERNET_HEADER_LEN..)?;
    let is_ipv4 = frame[ETHERNET_HEADER_LEN - 2..ETHERNET_HEADER_LEN] == IPV4.to_be_bytes();
    let header_len = usize::from(ip.first()? & 0x0f) * 4;
    let len = usize::from(u16::from_be_bytes(ip.get(2..4)?.try_into().ok()?));
    let body = ip.get(header_len..len.min(ip.len()))?;
    let address = |at: usize, port: usize| {
        let ip: [u8; 4] = ip.get(at..at + 4)?.try_into().ok()?;
        let port = u16::from_be_bytes(body.get(port..port + 2)?.try_into().ok()?);
        Some(SocketAddrV4::new(ip.into(), port))
    };
    let from = address(12, 0)?;
    let to = address(16, 2)?;
    (is_ipv4 && ip[9] == protocol).then_some((from, to, body))
}

/// Returns the data of a TCP segment.
pub(crate) fn tcp_data(frame: &mut [u8]) -> Option<&mut [u8]> {
    let (.., body) = packet(frame, TCP)?;
    let (body_len, header_len) = (body.len(), tcp_header_len(body));
    let ip_header_len = usize::from(frame.get(ETHERNET_HEADER_LEN)? & 0x0f) * 4;
    let start = ETHERNET_HEADER_LEN + ip_header_len;
    frame.get_mut(start + header_len..start + body_len)
}

fn tcp_header_len(body: &[u8]) -> usize {
    usize::from(body.get(12).map_or(0, |it| it >> 4)) * 4
}

/// Returns all UDP datagrams.
pub fn datagrams(frames: &[Vec<u8>]) -> Vec<Overheard> {
    let all = frames.iter().filter_map(|frame| {
        let (from, to, body) = packet(frame, UDP)?;
        let bytes = body.get(8..)?.to_vec();
        Some(Overheard { from, to, bytes })
    });
    all.collect()
}

/// Returns the bytes of each side of all TCP connections, in the order in which they arrived.
pub fn streams(frames: &[Vec<u8>]) -> Vec<Overheard> {
    let mut streams: BTreeMap<_, BTreeMap<u32, &[u8]>> = BTreeMap::new();
    for frame in frames {
        let Some((from, to, body)) = packet(frame, TCP) else {
            continue;
        };
        let Some(number) = body.get(4..8).and_then(|it| it.try_into().ok()) else {
            continue;
        };
        let bytes = body.get(tcp_header_len(body)..).unwrap_or_default();
        if !bytes.is_empty() {
            let parts = streams.entry((from, to)).or_default();
            parts.insert(u32::from_be_bytes(number), bytes);
        }
    }
    let all = streams.into_iter().map(|((from, to), parts)| Overheard {
        from,
        to,
        bytes: parts.into_values().flatten().copied().collect(),
    });
    all.collect()
}
