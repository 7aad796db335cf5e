//! Messages on the wire with valid and invalid numbers. The tests write these messages without the codec, because the
//! codec refuses invalid numbers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ring_codec::jitterbug::{Message, Node, Terms, node_list_hash};
use ring_codec::{StreamState, Streamed};

use ring_proto::jitterbug::{LEASE_MAX, LEASE_MIN, Options};

pub(super) const TP2: u8 = 0x31;
pub(super) const TP3: u8 = 0x41;

/// Returns the address of a host. Most hosts are on the segment.
pub(super) fn host(is_ipv6: bool, number: u8) -> IpAddr {
    let (subnet, last) = match number {
        250.. => (1, number),
        _ => (0, number % 41),
    };
    if !is_ipv6 {
        return Ipv4Addr::new(10, 0, subnet, last).into();
    }
    let prefix = if subnet == 0 { 0xfe80 } else { 0x2001 };
    Ipv6Addr::new(prefix, 0, 0, 0, 0, 0, 0, last.into()).into()
}

pub(super) fn node(is_ipv6: bool, number: u8) -> Node {
    Node {
        ip: host(is_ipv6, number),
        port: 7000 + u16::from(number),
    }
}

/// Returns the terms of a host. Most hosts have no terms. Some hosts have terms with a lease that is forbidden for
/// every node.
pub(super) fn terms(number: u8) -> Option<Terms> {
    let micros =
        |time: std::time::Duration| u32::try_from(time.as_micros()).expect("the time is short");
    let options = Options::default();
    let good = Terms {
        lease_us: micros(options.own_lease()),
        shortest_us: micros(options.own_lease()),
        longest_us: micros(options.own_lease()),
        renew_ms: 2_000,
        pass_ms: 500,
        follows: 0,
        policy: options.policy,
        is_followed: number.is_multiple_of(2),
        asks: number.is_multiple_of(3),
    };
    Some(match number / 41 {
        0 | 1 => return None,
        2 => good,
        3 => Terms {
            lease_us: 0,
            ..good
        },
        4 => Terms {
            lease_us: micros(LEASE_MIN),
            shortest_us: micros(LEASE_MIN),
            ..good
        },
        _ if number.is_multiple_of(5) => Terms {
            shortest_us: 1_000,
            ..good
        },
        _ if number.is_multiple_of(7) => Terms { policy: 7, ..good },
        _ => Terms {
            longest_us: micros(LEASE_MAX),
            ..good
        },
    })
}

/// Whether a host with these terms cannot be in a ring with the node.
pub(super) fn is_apart(terms: &Terms) -> bool {
    let bounds = LEASE_MIN.as_micros()..=LEASE_MAX.as_micros();
    let leases = [terms.lease_us, terms.shortest_us, terms.longest_us];
    terms.policy != Options::default().policy
        || !leases.iter().all(|it| bounds.contains(&u128::from(*it)))
}

pub(super) fn tp6(terms: Terms) -> Vec<u8> {
    let message = Message::Tp6 { terms };
    let mut bytes = vec![0; message.encoded_len()];
    message
        .encode(&mut bytes)
        .expect("the buffer is long enough");
    bytes
}

/// Returns the bytes without the TP6 at their beginning, if there is one.
pub(super) fn without_terms(bytes: &[u8]) -> &[u8] {
    match bytes.first() {
        Some(0x71) => bytes.get(1 + Terms::LEN..).unwrap_or_default(),
        _ => bytes,
    }
}

fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend(parts.concat());
    bytes
}

pub(super) fn tr1(id: i32, port: u16) -> Vec<u8> {
    message(0x01, &[&id.to_be_bytes(), &port.to_be_bytes()])
}

pub(super) fn tr2(id: i32) -> Vec<u8> {
    message(0x11, &[&id.to_be_bytes()])
}

pub(super) fn tp1(id: i32, hash: i32) -> Vec<u8> {
    message(0x21, &[&id.to_be_bytes(), &hash.to_be_bytes()])
}

pub(super) fn tp4(nodes: &[Node]) -> Vec<u8> {
    let node_list = nodes.into();
    let message = Message::Tp4 { node_list };
    let mut bytes = vec![0; message.encoded_len()];
    message
        .encode(&mut bytes)
        .expect("the buffer is long enough");
    bytes
}

pub(super) fn count(count: u32) -> Vec<u8> {
    message(0x51, &[&count.to_be_bytes()])
}

pub(super) fn tp5(id: i32, data: &[u8]) -> Vec<u8> {
    message(0x61, &[&id.to_be_bytes(), data])
}

/// Returns the absolute id of an offered token.
pub(super) fn offer(bytes: &[u8]) -> Option<u32> {
    match Message::decode_stream(without_terms(bytes), StreamState::Open, 0) {
        Ok(Streamed::Message {
            message: Message::Tp1 { token_id, .. },
            ..
        }) => token_id.is_leader().then(|| token_id.random()),
        _ => None,
    }
}

/// Returns the absolute id of a complete exchange that ends with `answer`. Returns `None` if bytes are missing, extra
/// or wrong.
pub(super) fn exchanged_id(bytes: &[u8], answer: u8) -> Option<u32> {
    let mut rest = without_terms(bytes);
    let mut next = || {
        let state = StreamState::Ended;
        match Message::decode_stream(rest, state, u32::MAX).ok()? {
            Streamed::Message { message, consumed } => {
                rest = &rest[consumed..];
                Some(message)
            }
            Streamed::Incomplete { .. } => None,
        }
    };
    let Message::Tp1 {
        token_id,
        node_list_hash: hash,
    } = next()?
    else {
        return None;
    };
    if answer == TP2 {
        let Message::Tp4 { node_list } = next()? else {
            return None;
        };
        if node_list_hash(&node_list) != hash {
            return None;
        }
    }
    let Message::Tp5 { token_id: id, .. } = next()? else {
        return None;
    };
    (id == token_id && id.is_leader()).then_some(id.random())
}
