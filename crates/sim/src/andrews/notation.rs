//! Addresses, and lines of text.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ring_codec::andrews::{Election, Frame, Message};

/// The UDP port and the listener of all nodes.
pub(super) const PORT: u16 = 7_400;
/// What the third byte of a stranger's address is.
const STRANGE: u8 = 200;

/// A node's address.
pub(super) fn address(node: usize) -> SocketAddr {
    // There are never so many nodes.
    let last = u8::try_from(node + 1).unwrap_or(u8::MAX);
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, last), PORT))
}

/// The address of somebody who is no node.
pub(super) fn stranger() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, STRANGE, 1), PORT))
}

/// The node that has an address; `None`: it is a stranger's.
pub(super) fn node_of(address: SocketAddr) -> Option<usize> {
    let IpAddr::V4(ip) = address.ip() else {
        return None;
    };
    let [_, _, third, last] = ip.octets();
    (third == 0)
        .then(|| usize::from(last).checked_sub(1))
        .flatten()
}

/// A datagram as a line of text.
pub(super) fn line(bytes: &[u8]) -> String {
    let Frame { src_id, message } = match Frame::decode_datagram(bytes) {
        Ok(frame) => frame,
        Err(error) => return format!("{} bytes that are no datagram: {error}", bytes.len()),
    };
    match message {
        Message::Join => format!("JOIN of {src_id}"),
        Message::Successor { successor_id } => format!("SUCCESSOR({successor_id}) of {src_id}"),
        Message::SuccessorRequest => format!("SUCCESSOR_REQUEST of {src_id}"),
        Message::CoordinatorElection { election } => match election {
            Election::Bully => format!("BULLY of {src_id}"),
            Election::BullyOk => format!("OK of {src_id}"),
            other => format!("{other:?} of {src_id}"),
        },
        other => format!("{other:?} of {src_id}"),
    }
}
