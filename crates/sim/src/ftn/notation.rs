//! Readable names of addresses, tokens and datagrams.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ring_codec::ftn::Datagram;
use ring_proto::ftn::Servers;

use super::schedule::TOKENS;

const PORT: u16 = 7_000;
pub(super) const FIRST_PORT: u16 = 20_000;
/// The third byte of an address shows whether the address belongs to a server, a client, the attacker or a stranger.
const SERVERS: u8 = 0;
const CLIENTS: u8 = 1;
const ATTACKER: u8 = 8;
const STRANGERS: u8 = 9;

fn address(net: u8, number: usize, port: u16) -> SocketAddr {
    // The simulator has fewer than 255 nodes of each kind.
    let last = u8::try_from(number + 1).unwrap_or(u8::MAX);
    SocketAddr::from((Ipv4Addr::new(10, 0, net, last), port))
}

pub(super) fn server_address(server: usize) -> SocketAddr {
    address(SERVERS, server, PORT)
}

/// Returns the address of a client's socket; the first client is 0.
pub(super) fn client_address(client: usize, port: u16) -> SocketAddr {
    address(CLIENTS, client, port)
}

pub(super) fn stranger_address(number: usize) -> SocketAddr {
    address(STRANGERS, number, PORT)
}

/// Returns the address at which the attacker is a client.
pub(super) fn attacker_address() -> SocketAddr {
    address(ATTACKER, 0, PORT)
}

pub(super) fn is_stranger(address: SocketAddr) -> bool {
    matches!(address.ip(), IpAddr::V4(ip) if ip.octets()[2] == STRANGERS)
}

pub(super) fn node_of(address: SocketAddr, servers: usize) -> Option<usize> {
    let IpAddr::V4(ip) = address.ip() else {
        return None;
    };
    let [_, _, net, last] = ip.octets();
    let number = usize::from(last).checked_sub(1)?;
    match net {
        SERVERS => Some(number),
        CLIENTS => Some(servers + number),
        _ => None,
    }
}

pub(super) fn list(servers: usize) -> Option<Servers> {
    let lines: Vec<String> = (0..servers).map(|at| format!("s{at}:{PORT}")).collect();
    let servers = lines.iter().enumerate();
    Servers::new(servers.map(|(at, line)| (line.as_str(), server_address(at))))
}

pub(super) fn token_name(token: usize) -> Box<[u8]> {
    format!("t{token}").into_bytes().into()
}

pub(super) fn token_of(name: &[u8]) -> Option<usize> {
    let digits = name.strip_prefix(b"t")?;
    let number: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (number < TOKENS).then_some(number)
}

/// Formats a datagram as one line.
pub(super) fn line(bytes: &[u8]) -> String {
    match Datagram::decode(bytes) {
        Ok(datagram) => datagram.to_string(),
        Err(error) => format!("{} bytes that are no datagram: {error}", bytes.len()),
    }
}
