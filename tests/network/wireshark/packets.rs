//! Ethernet frames with any bytes as the payload of UDP and TCP.

use std::net::Ipv4Addr;

/// The node to which all packets go.
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 254);
const SOURCE_PORT: u16 = 40_000;
const ETHERNET: [u8; 14] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
const UDP: u8 = 17;
const TCP: u8 = 6;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// Returns the address of a sender. Each sender has its own address, so no two packets belong to one conversation.
fn sender(index: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + u32::try_from(index).unwrap_or_default())
}

fn ip(index: usize, protocol: u8, parts: [&[u8]; 2]) -> Vec<u8> {
    let len = 20 + parts[0].len() + parts[1].len();
    let len = u16::try_from(len)
        .expect("the seeds are short")
        .to_be_bytes();
    let mut bytes = ETHERNET.to_vec();
    // Wireshark does not check checksums of 0.
    bytes.extend([0x45, 0, len[0], len[1], 0, 0, 0, 0, 64, protocol, 0, 0]);
    bytes.extend(sender(index).octets());
    bytes.extend(RECEIVER.octets());
    bytes.extend(parts.concat());
    bytes
}

pub(super) fn udp(index: usize, port: u16, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(8 + payload.len()).expect("the seeds are short");
    let head = [SOURCE_PORT, port, len, 0].map(u16::to_be_bytes).concat();
    ip(index, UDP, [&head, payload])
}

/// Returns the segments of a connection that sends these portions. The end of the connection is in the last segment
/// with data, or in an extra segment.
pub(super) fn tcp(index: usize, port: u16, portions: &[&[u8]], ends_later: bool) -> Vec<Vec<u8>> {
    let segment = |number: usize, flags: u8, data: &[u8]| {
        let number = u32::try_from(number).expect("the seeds are short");
        let mut head = [SOURCE_PORT, port].map(u16::to_be_bytes).concat();
        head.extend([number, 1].map(u32::to_be_bytes).concat());
        head.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        ip(index, TCP, [&head, data])
    };
    let mut segments = vec![segment(0, SYN, &[])];
    let mut number = 1;
    for (at, portion) in portions.iter().enumerate() {
        let is_last = at + 1 == portions.len() && !ends_later;
        let flags = if is_last { ACK | FIN } else { ACK };
        segments.push(segment(number, flags, portion));
        number += portion.len();
    }
    if ends_later {
        segments.push(segment(number, ACK | FIN, &[]));
    }
    segments
}
