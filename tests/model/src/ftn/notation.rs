//! Readable names of addresses, tokens and datagrams.

use std::net::SocketAddr;

use ring_codec::ftn::Datagram;
use ring_proto::ftn::Servers;

/// Returns the address of a node. A server keeps its port. A client has a new port after each start.
///
/// # Panics
/// Panics if there are more than 254 nodes.
pub(super) fn address(node: usize, is_server: bool, life: u16) -> SocketAddr {
    let last = u8::try_from(node + 1).expect("at most 254 nodes");
    let port = if is_server { 7_000 } else { 20_000 + life };
    SocketAddr::from(([10, 0, 0, last], port))
}

pub(super) fn node_of(address: SocketAddr) -> Option<usize> {
    match address {
        SocketAddr::V4(address) => usize::from(address.ip().octets()[3]).checked_sub(1),
        SocketAddr::V6(_) => None,
    }
}

pub(super) fn list(servers: usize) -> Option<Servers> {
    let addresses = (0..servers).map(|server| address(server, true, 0));
    let lines: Vec<_> = addresses.map(|it| (it.to_string(), it)).collect();
    Servers::new(
        lines
            .iter()
            .map(|(line, address)| (line.as_str(), *address)),
    )
}

pub(super) fn token_name(token: usize) -> Box<[u8]> {
    format!("t{token}").into_bytes().into()
}

/// Formats a datagram as one line.
pub(super) fn line(bytes: &[u8]) -> String {
    Datagram::decode(bytes).map_or_else(|error| error.to_string(), |it| it.to_string())
}
