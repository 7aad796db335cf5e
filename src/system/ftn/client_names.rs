//! The addresses of a server's datagrams, and the names that the keys of its clients permit.
//!
//! The state machine does not know keys. So the link drops a message for a token that the key of its sender does not
//! permit. The protocol has no message that refuses a request.

use std::net::SocketAddr;
use std::time::Duration;

use ring_proto::ftn::find_denied_name;
use ring_proto::time::Instant;
use ring_runtime::driver::{Addressing, DatagramAddressing};
use ring_trust::{ClientKeys, Destination, KeyId, NamePatterns, Origin, PseudoHeader};
use tracing::warn;

use super::events;
use super::observe::TokenName;

/// The minimum time between two log lines about names that are not permitted.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// The addresses of a server's datagrams, and the names that the keys of its clients permit.
#[derive(Debug)]
pub(super) struct ServerAddressing {
    own: SocketAddr,
    datagrams: DatagramAddressing,
    clients: Option<ClientKeys>,
    denials: u64,
    /// The last message that was dropped because of its name.
    last_denial: Option<Denial>,
    reported: Option<Instant>,
}

#[derive(Debug)]
struct Denial {
    client: SocketAddr,
    key: KeyId,
    /// The name of the token, for people.
    token: String,
}

impl ServerAddressing {
    /// Makes the addressing of the server at `own`. Senders at the addresses `servers` are servers.
    pub(super) fn new(own: SocketAddr, servers: Vec<SocketAddr>) -> Self {
        Self {
            own,
            datagrams: DatagramAddressing::new(own).with_servers(servers),
            clients: None,
            denials: 0,
            last_denial: None,
            reported: None,
        }
    }

    /// Replaces the addresses of the server at `own` and of all servers.
    pub(super) fn set_addresses(&mut self, own: SocketAddr, servers: Vec<SocketAddr>) {
        self.own = own;
        self.datagrams = DatagramAddressing::new(own).with_servers(servers);
    }

    pub(super) const fn own(&self) -> SocketAddr {
        self.own
    }

    pub(super) fn set_clients(&mut self, clients: Option<ClientKeys>) {
        self.clients = clients;
    }

    /// Returns the number of messages that were dropped because of their names.
    pub(super) const fn denials(&self) -> u64 {
        self.denials
    }

    /// Logs the last message that was dropped because of its name. Logs at most one line per minute.
    pub(super) fn report_denials(&mut self, now: Instant) {
        let is_early = |reported: Instant| now.since(reported) < REPORT_INTERVAL;
        if self.reported.is_some_and(is_early) {
            return;
        }
        let Some(Denial { client, key, token }) = self.last_denial.take() else {
            return;
        };
        self.reported = Some(now);
        let permitted = self.clients.as_ref().and_then(|it| it.patterns(key));
        let permitted = permitted.map(NamePatterns::to_string).unwrap_or_default();
        let key = key.get();
        warn!(
            event = events::NAME_DENIED, address = %client, key, token,
            "drops messages of {client} for the token {token}: its key {key} permits only {permitted}; if the client \
             needs the token, add the name in the file of --client-keys"
        );
    }
}

impl Addressing for ServerAddressing {
    type Peer = SocketAddr;
    type Address = SocketAddr;

    const REMOVES_TRAILERS: bool = DatagramAddressing::REMOVES_TRAILERS;

    fn origin(&self, datagram: &[u8], from: SocketAddr) -> Option<Origin<SocketAddr>> {
        self.datagrams.origin(datagram, from)
    }

    fn destination(&self, to: SocketAddr) -> Destination<SocketAddr> {
        self.datagrams.destination(to)
    }

    fn permits(&mut self, sender: SocketAddr, key: Option<KeyId>, message: &[u8]) -> bool {
        let clients = self.clients.as_ref();
        let Some((key, patterns)) = key.and_then(|key| Some((key, clients?.patterns(key)?))) else {
            return true;
        };
        let Some(name) = find_denied_name(message, |name| patterns.permit(name)) else {
            return true;
        };
        self.denials += 1;
        self.last_denial = Some(Denial {
            client: sender,
            key,
            token: TokenName(name).to_string(),
        });
        false
    }

    fn peer(&self, address: SocketAddr) -> SocketAddr {
        address
    }

    fn write_header(&self, to: SocketAddr, buffer: &mut [u8]) -> (usize, PseudoHeader) {
        self.datagrams.write_header(to, buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use ring_codec::List;
    use ring_codec::ftn::{Access, Datagram, Flags, Header, Message, Token};
    use ring_runtime::driver::Addressing;
    use ring_trust::{ClientKeys, KeyId};

    use super::ServerAddressing;

    fn address(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    fn addressing() -> ServerAddressing {
        let mut addressing = ServerAddressing::new(address(1), vec![address(1), address(2)]);
        let text = format!("7 {0} backup/*\n8 {0}\n", "5e".repeat(32));
        addressing.set_clients(Some(ClientKeys::parse(&text, &[]).unwrap()));
        addressing
    }

    fn encode(message: Message<'_>) -> Vec<u8> {
        let header = Header {
            from: 1 << 20,
            to: 0,
            ssig: 7,
        };
        let mut bytes = [0; 300];
        let len = Datagram::new(header, message).encode(&mut bytes).unwrap();
        bytes[..len].to_vec()
    }

    fn request(name: &[u8]) -> Vec<u8> {
        let (msgnum, access) = (5, Access::Exclusive);
        let token = Token { name, data: b"" };
        encode(Message::Request {
            msgnum,
            token,
            access,
        })
    }

    fn give_back(name: &[u8]) -> Vec<u8> {
        let (msgnum, flags) = (5, Flags::Update);
        let token = Token { name, data: b"x" };
        encode(Message::Return {
            msgnum,
            token,
            flags,
        })
    }

    fn catalog(names: &[&[u8]]) -> Vec<u8> {
        let holdings: Vec<_> = names.iter().map(|name| Token { name, data: b"" }).collect();
        let holdings = List::from(&holdings[..]);
        encode(Message::Catalog { holdings })
    }

    fn part(part: i32, bytes: &[u8]) -> Vec<u8> {
        let (content, parts) = (9, 2);
        encode(Message::Part {
            content,
            part,
            parts,
            bytes,
        })
    }

    #[test]
    fn a_key_with_names_permits_only_messages_for_these_names() {
        let mut addressing = addressing();
        let mut permits = |message: &[u8]| addressing.permits(address(9), KeyId::new(7), message);
        let (other, long) = (give_back(b"index"), give_back(b"backup/home"));
        for denied in [
            request(b"index"),
            other.clone(),
            catalog(&[b"", b"backup/home", b"index"]),
            part(0, &other),
            part(0, &request(b"index")),
            // A name that is cut could continue in any way.
            part(0, &long[..12]),
            part(0, &catalog(&[b"", b"backup/home", b"index"])),
            part(0, &encode(Message::Alive)),
        ] {
            assert!(!permits(&denied), "{denied:02x?}");
        }
        for permitted in [
            request(b"backup/home"),
            request(b""),
            long.clone(),
            catalog(&[b"", b"backup/home"]),
            part(0, &long),
            part(0, &catalog(&[b"", b"backup/home"])),
            part(1, &other),
            encode(Message::Alive),
            encode(Message::Logout),
        ] {
            assert!(permits(&permitted), "{permitted:02x?}");
        }
        assert_eq!(addressing.denials(), 8);
    }

    #[test]
    fn other_keys_permit_all_names() {
        let mut addressing = addressing();
        for key in [None, KeyId::new(8), KeyId::new(20)] {
            assert!(addressing.permits(address(9), key, &request(b"index")));
        }
        assert_eq!(addressing.denials(), 0);
    }
}
