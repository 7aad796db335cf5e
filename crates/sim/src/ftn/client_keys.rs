//! The keys of clients, and the names that they permit.

use std::net::SocketAddr;
use std::rc::Rc;

use ring_proto::ftn::find_denied_name;
use ring_runtime::driver::{Addressing, DatagramAddressing};
use ring_trust::{
    Authenticator, ClientKeys, Destination, KeyId, NamePatterns, Origin, PseudoHeader,
};

use super::notation::server_address;
use super::schedule::Schedule;
use super::system::World;
use crate::kernel::keys::{NodeKeys, key_line};

/// The key of the attacker, and the only name that it permits. The ids of the ring's keys are smaller.
pub(super) const ATTACKER_KEY: u32 = 999;
pub(super) const ATTACKER_NAME: &str = "x";

/// The patterns of the names that the key of a client permits. Without patterns, the key permits all names. `None` if
/// the client has the keys of the servers.
pub type ClientNames = Option<Vec<String>>;

/// Checks that the names of clients are legal.
///
/// # Errors
/// Returns the reason if a file with these names is not legal.
pub(super) fn check(names: &[ClientNames], clients: usize) -> Result<(), String> {
    if names.len() > clients {
        return Err("client_names has more entries than the run has clients".into());
    }
    let mut limited = names.iter().flatten();
    match limited.find(|patterns| parse(&line(0, patterns)).is_none()) {
        Some(patterns) => Err(format!("illegal names of a client: {patterns:?}")),
        None => Ok(()),
    }
}

/// Returns the id of a client's key. With each key of the ring, a client gets another key.
fn client_key_id(ring_id: u32, client: usize) -> u32 {
    let number = u32::try_from(client).unwrap_or(u32::MAX);
    ring_id.saturating_mul(1_000).saturating_add(number)
}

fn line(id: u32, patterns: &[String]) -> String {
    format!("{} {}\n", key_line(id.max(1)), patterns.join(" "))
}

fn parse(text: &str) -> Option<ClientKeys> {
    ClientKeys::parse(text, &[]).ok()
}

/// The role of a node in the keys of the service.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyRole {
    /// The names of all clients; empty if all nodes have the same keys.
    names: Rc<[ClientNames]>,
    servers: Rc<[SocketAddr]>,
    /// The number of this client; `None` for a server.
    client: Option<usize>,
    /// The names that the key of this client permits; `None` if it permits all names.
    permitted: Option<NamePatterns>,
    /// The keys that this server accepts only from clients.
    client_keys: Option<Rc<ClientKeys>>,
}

impl KeyRole {
    /// Returns the roles of all nodes of a schedule.
    pub(super) fn of(schedule: &Schedule) -> Vec<Self> {
        let server = Self {
            names: schedule.client_names.clone().into(),
            servers: (0..schedule.servers).map(server_address).collect(),
            ..Self::default()
        };
        let client = |client| Self {
            client: Some(client),
            permitted: server.patterns(client),
            ..server.clone()
        };
        let clients: Vec<_> = (0..schedule.clients).map(client).collect();
        let servers = (0..schedule.servers).map(|_| server.clone());
        servers.chain(clients).collect()
    }

    fn patterns(&self, client: usize) -> Option<NamePatterns> {
        let keys = parse(&line(1, self.names.get(client)?.as_ref()?))?;
        keys.patterns(keys.signing_id()).cloned()
    }

    /// Whether this node is a client with its own key.
    fn has_own_key(&self) -> bool {
        self.permitted.is_some()
    }

    /// Returns the keys of this node in a round in which servers have the keys `round`. A server with several keys also
    /// accepts several keys of each client. A client has only the newest key.
    fn keys_in(&mut self, round: &NodeKeys) -> NodeKeys {
        let mut keys = round.clone();
        if let (Some(client), Some(newest), true) =
            (self.client, round.ids.first(), self.has_own_key())
        {
            keys.ids = vec![client_key_id(*newest, client)];
        }
        if self.client.is_none() && !self.names.is_empty() {
            self.client_keys = parse(&self.file(&round.ids)).map(Rc::new);
        }
        keys
    }

    /// Returns the text of a file with the keys of all clients.
    fn file(&self, ring_ids: &[u32]) -> String {
        if ring_ids.is_empty() {
            return String::new();
        }
        let mut text = line(ATTACKER_KEY, &[ATTACKER_NAME.into()]);
        for ring_id in ring_ids {
            for (client, names) in self.names.iter().enumerate() {
                let id = client_key_id(*ring_id, client);
                text += &names.as_ref().map_or_else(String::new, |it| line(id, it));
            }
        }
        text
    }

    /// Sets the options of the node's signatures, as the daemon and its clients do.
    pub(super) fn set_options(&self, authenticator: &mut Authenticator<SocketAddr>) {
        if self.client.is_some() && !self.names.is_empty() {
            authenticator.challenge_unknown();
        }
        let keys = self.client_keys.as_deref();
        authenticator.set_client_keys(keys.map_or(&[], ClientKeys::keys));
    }

    /// Whether the key of this client permits a name.
    pub(super) fn permits(&self, name: &[u8]) -> bool {
        self.permitted.as_ref().is_none_or(|it| it.permit(name))
    }

    /// Returns the addressing of the node at an address.
    pub(super) fn addressing(&self, own: SocketAddr) -> FtnAddressing {
        let mut datagrams = DatagramAddressing::new(own);
        if self.client.is_none() && !self.names.is_empty() {
            datagrams = datagrams.with_servers(self.servers.to_vec());
        }
        FtnAddressing {
            datagrams,
            clients: self.client_keys.clone(),
        }
    }
}

/// The addresses of a node's datagrams. A server also checks the names in messages of clients, as the daemon does.
#[derive(Debug)]
pub(super) struct FtnAddressing {
    datagrams: DatagramAddressing,
    clients: Option<Rc<ClientKeys>>,
}

impl Addressing for FtnAddressing {
    type Peer = SocketAddr;
    type Address = SocketAddr;

    const REMOVES_TRAILERS: bool = DatagramAddressing::REMOVES_TRAILERS;

    fn origin(&self, datagram: &[u8], from: SocketAddr) -> Option<Origin<SocketAddr>> {
        self.datagrams.origin(datagram, from)
    }

    fn destination(&self, to: SocketAddr) -> Destination<SocketAddr> {
        self.datagrams.destination(to)
    }

    fn permits(&mut self, _: SocketAddr, key: Option<KeyId>, message: &[u8]) -> bool {
        let patterns = key.zip(self.clients.as_ref());
        let patterns = patterns.and_then(|(key, clients)| clients.patterns(key));
        patterns.is_none_or(|it| find_denied_name(message, |name| it.permit(name)).is_none())
    }

    fn peer(&self, address: SocketAddr) -> SocketAddr {
        address
    }

    fn write_header(&self, to: SocketAddr, buffer: &mut [u8]) -> (usize, PseudoHeader) {
        self.datagrams.write_header(to, buffer)
    }
}

impl World {
    /// Gives all nodes their keys before they start.
    pub(super) fn set_first_client_keys(&mut self, round: &NodeKeys) {
        for node in &mut self.nodes {
            node.keys = node.own.keys.keys_in(round);
        }
    }

    /// Gives a node its keys of a round. A client with its own key reads its key only when it starts. So if this key
    /// changes, the client starts again.
    pub(super) fn change_keys(&mut self, at: usize, round: &NodeKeys) {
        let node = &mut self.nodes[at];
        let keys = node.own.keys.keys_in(round);
        let restarts =
            node.driver.is_some() && node.own.keys.has_own_key() && keys.ids != node.keys.ids;
        if restarts {
            self.kill_process(at);
        }
        self.set_keys(at, &keys);
        if restarts {
            self.start(at);
        }
    }
}
