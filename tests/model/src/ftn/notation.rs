//! Addresses, names of tokens and lines of text.

use std::net::SocketAddr;

use ring_codec::ftn::Datagram;
use ring_proto::ftn::Servers;

/// The address of a node in its so-many-eth life: a server keeps its own, a client has a new socket in each.
///
/// # Panics
/// There are at most 254 nodes.
pub(super) fn address(node: usize, is_server: bool, life: u16) -> SocketAddr {
    let last = u8::try_from(node + 1).expect("a handful of nodes");
    let port = if is_server { 7_000 } else { 20_000 + life };
    SocketAddr::from(([10, 0, 0, last], port))
}

/// The node that an address is one of.
pub(super) fn node_of(address: SocketAddr) -> Option<usize> {
    match address {
        SocketAddr::V4(address) => usize::from(address.ip().octets()[3]).checked_sub(1),
        SocketAddr::V6(_) => None,
    }
}

/// The list of so many servers.
pub(super) fn list(servers: usize) -> Option<Servers> {
    let addresses = (0..servers).map(|server| address(server, true, 0));
    let lines: Vec<_> = addresses.map(|it| (it.to_string(), it)).collect();
    Servers::new(
        lines
            .iter()
            .map(|(line, address)| (line.as_str(), *address)),
    )
}

/// The name of a token.
pub(super) fn token_name(token: usize) -> Box<[u8]> {
    format!("t{token}").into_bytes().into()
}

/// A datagram as a line of text.
pub(super) fn line(bytes: &[u8]) -> String {
    Datagram::decode(bytes).map_or_else(|error| error.to_string(), |it| it.to_string())
}
