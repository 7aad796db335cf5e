//! Several servers and simple clients in virtual time, on a network that loses and delays messages.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::{Access, Datagram, Flags, Header, Message, ServerState};

use super::notation::*;
use super::rig::{CT, MS};
use crate::ftn::Configuration;
use crate::ftn::catalog::{HoldKind, Marker};
use crate::ftn::server::{Command, Durable, NetworkState, Options, RoleKind, Server, Snapshot};
use crate::time::{Instant, Now};
use crate::{Machine, SendOutcome, StoreOutcome};

/// Delay of each datagram.
const LATENCY: Duration = MS;
/// Interval after which clients repeat messages.
const TICK: Duration = Duration::from_millis(100);

/// A datagram: from, to, bytes.
type SentDatagram = (SocketAddr, SocketAddr, Vec<u8>);

pub(super) struct Network {
    options: Options,
    /// A server that gets new options at its next start, and these options.
    pub other_options: Option<(usize, Options)>,
    servers: Vec<Option<Server>>,
    durable: Vec<Durable>,
    pub clients: BTreeMap<u16, TestClient>,
    now: Now,
    under_way: BTreeMap<(Instant, u64), SentDatagram>,
    sent: u64,
    /// Whether the network loses a datagram.
    pub loses: Box<dyn Fn(SocketAddr, SocketAddr) -> bool>,
    /// Whether the network delays a message until the test delivers it.
    pub keeps: fn(&Message<'_>, SocketAddr) -> bool,
    pub kept: Vec<SentDatagram>,
}

/// A client that follows only some rules of the protocol. A server would notice a breach of these rules.
pub(super) struct TestClient {
    k: u16,
    pub id: i32,
    pub configuration: Configuration,
    msgnum: i64,
    renewed: Instant,
    pub confirmed: Option<Instant>,
    renewals: BTreeMap<i64, Instant>,
    pub held: BTreeMap<String, (Access, String)>,
    pub wants: BTreeMap<String, (i64, Access)>,
    /// RETURNs that are not confirmed: msgnum, and data for an UPDATE.
    pub returns: BTreeMap<String, (i64, Option<String>)>,
}

impl Network {
    pub(super) fn new(count: usize, options: Options) -> Self {
        let mut network = Self {
            options,
            other_options: None,
            servers: (0..count).map(|_| None).collect(),
            durable: vec![Durable::default(); count],
            clients: BTreeMap::new(),
            now: Now {
                monotonic: Instant::from_nanos(1_000_000_000),
                wall: 0,
            },
            under_way: BTreeMap::new(),
            sent: 0,
            loses: Box::new(|_, _| false),
            keeps: |_, _| false,
            kept: Vec::new(),
        };
        for index in 0..count {
            network.start(index);
        }
        network
    }

    /// Returns a network of servers that are all READY.
    pub(super) fn ready(count: usize, options: Options) -> Self {
        let mut network = Self::new(count, options);
        network.pass_until_ready(Duration::from_secs(60));
        network
    }

    pub(super) fn start(&mut self, index: usize) {
        let list = servers(self.servers.len());
        let seed = self.now.monotonic.as_nanos();
        let durable = self.durable[index];
        let other_options = self
            .other_options
            .filter(|(other_options, _)| *other_options == index);
        let options = other_options.map_or(self.options, |(_, options)| options);
        let server = Server::new(options, list, index, durable, seed).unwrap();
        self.servers[index] = Some(server);
        self.input(index, |server, now| {
            server.handle_link(now, NetworkState::Up);
        });
    }

    pub(super) fn stop(&mut self, index: usize) {
        self.input(index, |server, now| {
            server.handle_command(now, Command::ShutDown);
        });
    }

    pub(super) fn has_left(&self, index: usize) -> bool {
        self.server(index).has_left()
    }

    pub(super) fn crash(&mut self, index: usize) {
        self.servers[index] = None;
    }

    /// Adds a client that logs in.
    pub(super) fn add(&mut self, k: u16) {
        let client = TestClient {
            k,
            id: 0,
            configuration: Configuration::new(0, vec![ServerState::Down; self.servers.len()]),
            msgnum: 1000,
            renewed: Instant::default(),
            confirmed: None,
            renewals: BTreeMap::new(),
            held: BTreeMap::new(),
            wants: BTreeMap::new(),
            returns: BTreeMap::new(),
        };
        self.clients.insert(k, client);
    }

    pub(super) fn server(&self, index: usize) -> &Server {
        self.servers[index].as_ref().unwrap()
    }

    pub(super) fn snapshots(&self) -> impl Iterator<Item = Snapshot> {
        let servers = self.servers.iter().flatten();
        servers.map(|server| server.snapshot(self.now.monotonic))
    }

    pub(super) fn leaders(&self) -> Vec<usize> {
        let leaders = self.snapshots().filter(|s| s.role == RoleKind::Leader);
        leaders.map(|snapshot| snapshot.index).collect()
    }

    pub(super) fn now(&self) -> Instant {
        self.now.monotonic
    }

    /// Makes a client request a token.
    pub(super) fn want(&mut self, k: u16, name: &str, access: Access) {
        let client = self.clients.get_mut(&k).unwrap();
        let m = client.next_msgnum();
        client.wants.insert(name.to_owned(), (m, access));
        self.repeat(k);
    }

    /// Makes a client return a token. If new data are given, the return contains them.
    pub(super) fn give_back(&mut self, k: u16, name: &str, data: Option<&str>) {
        let client = self.clients.get_mut(&k).unwrap();
        let m = client.next_msgnum();
        client
            .returns
            .insert(name.to_owned(), (m, data.map(str::to_owned)));
        self.repeat(k);
    }

    pub(super) fn holds(&self, k: u16, name: &str) -> bool {
        self.clients[&k].held.contains_key(name)
    }

    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now.monotonic + time;
        self.run(end, |_| false);
    }

    /// Advances the time until `holds` returns `true`, but at most by `limit`. Returns the time that has passed.
    pub(super) fn pass_until(
        &mut self,
        limit: Duration,
        holds: impl Fn(&Self) -> bool,
    ) -> Duration {
        let begin = self.now.monotonic;
        self.run(begin + limit, &holds);
        assert!(
            holds(self),
            "the condition does not hold: {:?}",
            self.snapshots().collect::<Vec<_>>()
        );
        self.now.monotonic.since(begin)
    }

    pub(super) fn pass_until_ready(&mut self, limit: Duration) {
        self.pass_until(limit, |network| {
            let mut states = network.snapshots().flat_map(|s| s.states);
            states.all(|state| state == ServerState::Ready)
        });
    }

    /// Delivers the delayed messages.
    pub(super) fn release(&mut self) {
        self.keeps = |_, _| false;
        for datagram in std::mem::take(&mut self.kept) {
            self.put_under_way(datagram);
        }
    }

    fn run(&mut self, end: Instant, done: impl Fn(&Self) -> bool) {
        let mut tick = self.now.monotonic;
        while !done(self) {
            let timeouts = self.servers.iter().enumerate();
            let timeouts = timeouts.filter_map(|(i, s)| Some((s.as_ref()?.poll_timeout()?, i)));
            let timeout = timeouts.min();
            let arrival = self.under_way.first_key_value().map(|(key, _)| key.0);
            let due = [timeout.map(|(due, _)| due), arrival, Some(tick)];
            let due = due.into_iter().flatten().min().unwrap();
            if due > end {
                break;
            }
            let by = due.since(self.now.monotonic);
            self.now.wall += u64::try_from(by.as_nanos()).unwrap();
            self.now.monotonic = self.now.monotonic + by;
            // Datagrams in a socket are read before timeouts.
            if arrival == Some(due) {
                let (_, datagram) = self.under_way.pop_first().unwrap();
                self.deliver(&datagram);
            } else if tick == due {
                tick = tick + TICK;
                for k in self.clients.keys().copied().collect::<Vec<_>>() {
                    self.repeat(k);
                }
            } else if let Some((_, index)) = timeout {
                self.input(index, Machine::handle_timeout);
            }
        }
        self.now.monotonic = self.now.monotonic.max(end.min(self.now.monotonic));
    }

    fn put_under_way(&mut self, (from, to, bytes): SentDatagram) {
        if (self.loses)(from, to) {
            return;
        }
        let message = Datagram::decode(&bytes).unwrap();
        if (self.keeps)(&message.message(), to) {
            self.kept.push((from, to, bytes));
            return;
        }
        self.sent += 1;
        let at = self.now.monotonic + LATENCY;
        self.under_way.insert((at, self.sent), (from, to, bytes));
    }

    fn deliver(&mut self, (from, to, bytes): &SentDatagram) {
        if to.port() == 4000 {
            let SocketAddr::V4(address) = to else { return };
            let index = usize::from(address.ip().octets()[3]);
            self.input(index, |server, now| {
                server.handle_message(now, *from, bytes, Duration::ZERO);
            });
        } else {
            let k = to.port() - CLIENT_PORT;
            let said = self
                .clients
                .get_mut(&k)
                .map(|client| client.deliver(bytes, self.now.monotonic));
            self.send(k, said.unwrap_or_default());
        }
    }

    fn input(&mut self, index: usize, input: impl FnOnce(&mut Server, Now)) {
        let Some(server) = &mut self.servers[index] else {
            return;
        };
        input(server, self.now);
        let mut said = Vec::new();
        let mut buf = vec![0xaa; crate::ftn::DATAGRAM_BYTES_MAX];
        loop {
            if let Some(durable) = server.poll_durable() {
                self.durable[index] = durable;
                server.handle_stored(self.now, StoreOutcome::Done);
            } else if let Some(transmit) = server.poll_transmit(&mut buf) {
                said.push((
                    super::notation::server(index),
                    transmit.to,
                    buf[..transmit.len].to_vec(),
                ));
                server.handle_sent(self.now, transmit.ticket, SendOutcome::Accepted);
            } else {
                break;
            }
        }
        while server.poll_event().is_some() {}
        for datagram in said {
            self.put_under_way(datagram);
        }
    }

    fn repeat(&mut self, k: u16) {
        let now = self.now.monotonic;
        let count = self.servers.len();
        if let Some(client) = self.clients.get_mut(&k) {
            let said = client.repeat(now, count);
            self.send(k, said);
        }
    }

    fn send(&mut self, k: u16, said: Vec<(usize, Vec<u8>)>) {
        for (to, bytes) in said {
            self.put_under_way((client(k), server(to), bytes));
        }
    }
}

impl TestClient {
    fn next_msgnum(&mut self) -> i64 {
        self.msgnum += 1;
        self.msgnum
    }

    fn count(&self) -> usize {
        self.configuration.states().len()
    }

    fn to(&self, server: usize, message: Message<'_>) -> (usize, Vec<u8>) {
        let header = Header {
            from: self.id,
            to: i32::try_from(server).unwrap(),
            ssig: servers(self.count()).signature(),
        };
        (server, encode(header, message))
    }

    fn responsible(&self, name: &str) -> Option<usize> {
        servers(self.count()).responsible(name.as_bytes(), &self.configuration)
    }

    /// Returns the messages to repeat.
    fn repeat(&mut self, now: Instant, count: usize) -> Vec<(usize, Vec<u8>)> {
        if self.id == 0 {
            let p = format!(":{}", client(self.k).port());
            let message = Message::Login { p: p.as_bytes() };
            return (0..count).map(|server| self.to(server, message)).collect();
        }
        let mut said = Vec::new();
        if now.since(self.renewed) >= CT / 5 || self.confirmed.is_none() {
            self.renewed = now;
            said.push(self.renewal(now));
        }
        for (name, (msgnum, access)) in &self.wants {
            if let Some(server) = self.responsible(name) {
                said.push(self.to(server, request(*msgnum, name, *access)));
            }
        }
        for (name, (msgnum, data)) in &self.returns {
            if let Some(server) = self.responsible(name) {
                let message = Message::Return {
                    msgnum: *msgnum,
                    token: token(name, data.as_deref().unwrap_or_default()),
                    flags: if data.is_some() {
                        Flags::Both
                    } else {
                        Flags::Deassign
                    },
                };
                said.push(self.to(server, message));
            }
        }
        said
    }

    fn renewal(&mut self, now: Instant) -> (usize, Vec<u8>) {
        let c = self.configuration.number().to_string();
        let msgnum = self.next_msgnum();
        self.renewals.insert(msgnum, now);
        let message = Message::Return {
            msgnum,
            token: token("", &c),
            flags: Flags::Deassign,
        };
        self.to(self.configuration.leader(), message)
    }

    fn deliver(&mut self, bytes: &[u8], now: Instant) -> Vec<(usize, Vec<u8>)> {
        let datagram = Datagram::decode(bytes).unwrap();
        let header = datagram.header();
        let from = usize::try_from(header.from).unwrap();
        match datagram.message() {
            Message::Config { leader, sstates } => {
                let number = u64::try_from(leader).unwrap();
                let states: Vec<ServerState> = sstates.iter().collect();
                if self.id == 0 {
                    if header.to == 0 || number < self.configuration.number() {
                        return Vec::new();
                    }
                    self.id = header.to;
                    self.configuration = Configuration::new(number, states);
                    self.renewed = now;
                    return vec![self.renewal(now)];
                }
                if number < self.configuration.number() {
                    return Vec::new();
                }
                self.configuration = Configuration::new(number, states);
                if header.to != self.id {
                    return Vec::new();
                }
                self.answer(from)
            }
            Message::Confirm { msgnum } => {
                if let Some(at) = self.renewals.get(&msgnum) {
                    self.confirmed = self.confirmed.max(Some(*at));
                }
                let done = self.returns.iter().find(|(_, (m, _))| *m == msgnum);
                if let Some(name) = done.map(|(name, _)| name.clone()) {
                    self.returns.remove(&name);
                    self.held.remove(&name);
                }
                Vec::new()
            }
            Message::Grant { msgnum, token } => {
                let name = String::from_utf8(token.name.into()).unwrap();
                let data = String::from_utf8(token.data.into()).unwrap();
                let wanted = self.wants.get(&name).copied().filter(|(m, _)| *m == msgnum);
                if let Some((_, access)) = wanted.filter(|_| self.responsible(&name) == Some(from))
                {
                    self.wants.remove(&name);
                    self.held.insert(name, (access, data));
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn answer(&mut self, server: usize) -> Vec<(usize, Vec<u8>)> {
        let marker = Marker {
            configuration: self.configuration.number(),
            part: 0,
            parts: 1,
            floor: self.msgnum + 1,
        };
        let marker = marker.to_string();
        let mut entries = vec![token("", &marker)];
        for (name, (access, data)) in &self.held {
            if self.responsible(name) == Some(server) {
                let holding = match (access, self.returns.contains_key(name)) {
                    (Access::Exclusive, false) => HoldKind::Exclusive,
                    (Access::Exclusive, true) => HoldKind::ReturningExclusive,
                    (Access::Shared, false) => HoldKind::Shared,
                    (Access::Shared, true) => HoldKind::ReturningShared,
                };
                entries.push(token("", holding.name()));
                entries.push(token(name, data));
            }
        }
        let said = self.to(
            server,
            Message::Catalog {
                holdings: entries[..].into(),
            },
        );
        let names = self.wants.keys().chain(self.returns.keys()).cloned();
        let names = names.filter(|name| self.responsible(name) == Some(server));
        for name in names.collect::<Vec<String>>() {
            let msgnum = self.next_msgnum();
            if let Some(wanted) = self.wants.get_mut(&name) {
                wanted.0 = msgnum;
            }
            if let Some(returned) = self.returns.get_mut(&name) {
                returned.0 = msgnum;
            }
        }
        vec![said]
    }
}
