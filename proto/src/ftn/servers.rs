//! The list of servers, and the order in which servers are responsible for a token.

use std::net::SocketAddr;

use ring_codec::ftn::{hash, server_sequence, server_signature};

use super::{Configuration, SERVERS_MAX};

/// The list of servers. Each client and each server gets this list at its start
/// (`docs/token-service/protocol/conventions.md` O4).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Servers {
    addresses: Box<[Option<SocketAddr>]>,
    signature: i32,
}

impl Servers {
    /// Makes a list of servers. For each server, `servers` contains the server's line of the file, and the server's
    /// address if it is known. A server without an address counts as DOWN. Returns `None` if the list has no server, or
    /// more than [`SERVERS_MAX`] servers.
    pub fn new<'a, A: Into<Option<SocketAddr>>>(
        servers: impl IntoIterator<Item = (&'a str, A)>,
    ) -> Option<Self> {
        let servers = servers
            .into_iter()
            .map(|(line, address)| (line, address.into()));
        let (lines, addresses): (Vec<&str>, Vec<Option<SocketAddr>>) = servers.unzip();
        let is_legal = (1..=SERVERS_MAX).contains(&addresses.len());
        is_legal.then(|| Self {
            addresses: addresses.into(),
            // The signature covers the lines as written. It does not cover the addresses, because machines may resolve
            // a name to different addresses.
            signature: server_signature(lines.iter().map(|line| line.as_bytes())),
        })
    }

    /// Returns the number of servers, n, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Returns the signature of the list, `ssig`.
    pub const fn signature(&self) -> i32 {
        self.signature
    }

    /// Returns the address of a server. Returns `None` if the address is unknown or the server does not exist.
    pub fn address(&self, index: usize) -> Option<SocketAddr> {
        self.addresses.get(index).copied().flatten()
    }

    /// Replaces the addresses after the names were resolved again. Returns whether any address changed.
    pub fn update_addresses(&mut self, addresses: &[Option<SocketAddr>]) -> bool {
        let mut is_new = false;
        for (known, found) in self.addresses.iter_mut().zip(addresses) {
            // If a resolver fails for some time, a server must stay reachable at its known address.
            if found.is_some() && known != found {
                *known = *found;
                is_new = true;
            }
        }
        is_new
    }

    /// Returns the source address that a message must have if its field `from` has this value. Returns `None` if the
    /// server does not exist, or if its address is unknown.
    pub fn sender_address(&self, from: i32) -> Option<SocketAddr> {
        self.address(usize::try_from(from).ok()?)
    }

    /// Returns the server that is responsible for a token: the first server of the token's order that is not DOWN.
    /// Returns `None` if all servers are DOWN.
    pub fn responsible(&self, name: &[u8], configuration: &Configuration) -> Option<usize> {
        // The first server is rarely DOWN, and finding it does not need the whole order.
        let first = hash(name) as usize % self.len();
        if !configuration.is_down(first) {
            return Some(first);
        }
        let mut order = [0; SERVERS_MAX];
        let order = &mut order[..self.len()];
        server_sequence(name, order);
        let order = order
            .iter()
            .filter_map(|&index| usize::try_from(index).ok());
        order
            .into_iter()
            .find(|&index| !configuration.is_down(index))
    }
}

#[cfg(test)]
mod tests {
    use ring_codec::ftn::ServerState::{Booting, Down, Ready};

    use super::*;

    fn three() -> Servers {
        let address = |port| SocketAddr::from(([192, 0, 2, 1], port));
        Servers::new([
            ("a:1", address(1)),
            ("b:2", address(2)),
            ("c:3", address(3)),
        ])
        .unwrap()
    }

    #[test]
    fn responsible_is_the_first_of_the_order_that_is_not_down() {
        let servers = three();
        let with = |states: [_; 3]| Configuration::new(3, states);
        for name in [&b"swarm"[..], b"t", b"", b"build cache"] {
            let mut order = [0; 3];
            server_sequence(name, &mut order);
            let order = order.map(|index| usize::try_from(index).unwrap());
            let mut states = [Ready, Booting, Ready];
            for place in 0..3 {
                let found = servers.responsible(name, &with(states));
                assert_eq!(found, Some(order[place]));
                states[order[place]] = Down;
            }
            assert_eq!(servers.responsible(name, &with(states)), None);
        }
    }

    #[test]
    fn a_list_has_one_server_at_least_and_thirty_two_at_most() {
        let line = ("a:1", SocketAddr::from(([192, 0, 2, 1], 1)));
        for (count, is_legal) in [(0, false), (1, true), (32, true), (33, false)] {
            assert_eq!(Servers::new(vec![line; count]).is_some(), is_legal);
        }
    }
}
