//! Readable names of addresses and datagrams.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ring_codec::andrews::{Election, Frame, Message};

/// The UDP port and the TCP port of all nodes.
pub(super) const PORT: u16 = 7_400;
/// The third byte of a stranger's address.
const STRANGE: u8 = 200;

pub(super) fn address(node: usize) -> SocketAddr {
    // The simulator has fewer than 255 nodes.
    let last = u8::try_from(node + 1).unwrap_or(u8::MAX);
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, last), PORT))
}

pub(super) fn stranger() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, STRANGE, 1), PORT))
}

/// Returns the node with this address; `None` if the address belongs to a stranger.
pub(super) fn node_of(address: SocketAddr) -> Option<usize> {
    let IpAddr::V4(ip) = address.ip() else {
        return None;
    };
    let [_, _, third, last] = ip.octets();
    (third == 0)
        .then(|| usize::from(last).checked_sub(1))
        .flatten()
}

/// Formats a datagram as one line.
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
