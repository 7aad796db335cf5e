//! Addresses, and lines of text.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ring_codec::jitterbug::Message;

/// The UDP port of all nodes.
pub(super) const PORT: u16 = 57_700;
/// The TCP port of a node's first process.
pub(super) const FIRST_TCP_PORT: u16 = 20_000;
/// How many leading bits the subnet has.
pub(super) const PREFIX: u8 = 16;
/// The hosts of strangers: they answer no connection.
pub(super) const STRANGERS: usize = 4;
/// What the third byte of a stranger's address is.
const STRANGE: u8 = 200;

/// A node's address, after it has changed so many times.
pub(super) fn address(node: usize, changes: u8) -> IpAddr {
    // There are never so many nodes.
    let last = u8::try_from(node + 1).unwrap_or(u8::MAX);
    Ipv4Addr::new(10, 0, changes % STRANGE, last).into()
}

/// The address of somebody who is no node.
pub(super) fn stranger_address(number: usize) -> IpAddr {
    let last = u8::try_from(number % STRANGERS + 1).unwrap_or(u8::MAX);
    Ipv4Addr::new(10, 0, STRANGE, last).into()
}

/// Where datagrams for all go.
pub(super) fn broadcast() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 255, 255), PORT))
}

/// The node that has, or had, an address; `None`: it is a stranger's.
pub(super) fn owner_of(address: IpAddr) -> Option<usize> {
    let IpAddr::V4(ip) = address else {
        return None;
    };
    let [_, _, changes, last] = ip.octets();
    (changes < STRANGE)
        .then(|| usize::from(last).checked_sub(1))
        .flatten()
}

/// The same, at any port.
pub(super) fn node_of(address: SocketAddr) -> Option<usize> {
    owner_of(address.ip())
}

/// The node at whose connections those to an address are kept. That of a stranger answers none of them, as an address
/// that a node no longer has.
pub(super) fn host_of(address: SocketAddr) -> Option<usize> {
    node_of(address).or(Some(0))
}

/// A datagram as a line of text.
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
