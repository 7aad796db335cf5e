//! Readable names of addresses and datagrams.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ring_codec::jitterbug::Message;

pub(super) const PORT: u16 = 57_700;
pub(super) const FIRST_TCP_PORT: u16 = 20_000;
/// The prefix length of the subnet.
pub(super) const PREFIX: u8 = 16;
/// The number of strangers. Strangers do not answer connections.
pub(super) const STRANGERS: usize = 4;
/// The third byte of a stranger's address.
const STRANGE: u8 = 200;

/// Returns the address of a node whose address has changed `changes` times.
pub(super) fn address(node: usize, changes: u8) -> IpAddr {
    // The simulator has fewer than 255 nodes.
    let last = u8::try_from(node + 1).unwrap_or(u8::MAX);
    Ipv4Addr::new(10, 0, changes % STRANGE, last).into()
}

pub(super) fn stranger_address(number: usize) -> IpAddr {
    let last = u8::try_from(number % STRANGERS + 1).unwrap_or(u8::MAX);
    Ipv4Addr::new(10, 0, STRANGE, last).into()
}

pub(super) fn broadcast() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 255, 255), PORT))
}

/// Returns the node that has, or once had, this address; `None` if the address belongs to a stranger.
pub(super) fn owner_of(address: IpAddr) -> Option<usize> {
    let IpAddr::V4(ip) = address else {
        return None;
    };
    let [_, _, changes, last] = ip.octets();
    (changes < STRANGE)
        .then(|| usize::from(last).checked_sub(1))
        .flatten()
}

/// Returns the node that has, or once had, this IP address. The port does not matter.
pub(super) fn node_of(address: SocketAddr) -> Option<usize> {
    owner_of(address.ip())
}

/// Returns the node at which the simulator keeps the connections to this address. Connections to a stranger are kept at
/// node 0. Connections to a stranger get no answer, like connections to an old address.
pub(super) fn host_of(address: SocketAddr) -> Option<usize> {
    node_of(address).or(Some(0))
}

/// Formats a datagram as one line.
pub(super) fn line(bytes: &[u8]) -> String {
    match Message::decode_datagram(bytes) {
        Ok(Message::Tr1 {
            token_id,
            node_tcp_port,
            ..
        }) => format!("TR1({}, {node_tcp_port})", token_id.to_wire()),
        Ok(Message::Tr2 { token_id, .. }) => format!("TR2({})", token_id.to_wire()),
        Ok(message) => format!("{message:?}"),
        Err(error) => format!("{} bytes that are no datagram: {error}", bytes.len()),
    }
}
