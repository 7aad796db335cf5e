//! Several servers and simple clients on a network that loses, keeps and delays what it is told to, in virtual time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::{Access, Datagram, Flags, Header, Message, ServerState};

use super::notation::*;
use super::rig::{CT, MS};
use crate::ftn::Configuration;
use crate::ftn::catalog::{Holding, Marker};
use crate::ftn::server::{Command, Durable, Net, Options, RoleKind, Server, Snapshot};
use crate::time::{Instant, Now};
use crate::{Machine, Sent, Stored};

/// How long a datagram is on its way.
const LATENCY: Duration = MS;
/// How often clients look what is to be repeated.
const TICK: Duration = Duration::from_millis(100);

/// A datagram: from, to, bytes.
type Sending = (SocketAddr, SocketAddr, Vec<u8>);

pub(super) struct World {
    options: Options,
    /// A server with other options, from its next start on.
    pub odd: Option<(usize, Options)>,
    servers: Vec<Option<Server>>,
    durable: Vec<Durable>,
    pub clients: BTreeMap<u16, Player>,
    now: Now,
    under_way: BTreeMap<(Instant, u64), Sending>,
    sent: u64,
    /// What the network loses.
    pub loses: Box<dyn Fn(SocketAddr, SocketAddr) -> bool>,
    /// What the network keeps back for now.
    pub keeps: fn(&Message<'_>, SocketAddr) -> bool,
    pub kept: Vec<Sending>,
}

/// A client that keeps to the page as far as servers can see.
pub(super) struct Player {
    k: u16,
    pub id: i32,
    pub configuration: Configuration,
    msgnum: i64,
    renewed: Instant,
    pub confirmed: Option<Instant>,
    renewals: BTreeMap<i64, Instant>,
    pub held: BTreeMap<String, (Access, String)>,
    pub wants: BTreeMap<String, (i64, Access)>,
    /// RETURNs that are not confirmed: UPDATE with data, and DEASSIGN.
    pub returns: BTreeMap<String, (i64, Option<String>)>,
}

impl World {
    pub(super) fn new(count: usize, options: Options) -> Self {
        let mut world = Self {
            options,
            odd: None,
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
            world.start(index);
        }
        world
    }

    /// The same, once all servers are READY.
    pub(super) fn ready(count: usize, options: Options) -> Self {
        let mut world = Self::new(count, options);
        world.pass_until(Duration::from_secs(60), |world| {
            world
                .snapshots()
                .all(|s| s.states.iter().all(|&state| state == ServerState::Ready))
        });
        world
    }

    pub(super) fn start(&mut self, index: usize) {
        let list = servers(self.servers.len());
        let seed = self.now.monotonic.as_nanos();
        let durable = self.durable[index];
        let odd = self.odd.filter(|(odd, _)| *odd == index);
        let options = odd.map_or(self.options, |(_, options)| options);
        let server = Server::new(options, list, index, durable, seed).unwrap();
        self.servers[index] = Some(server);
        self.input(index, |server, now| server.handle_link(now, Net::Up));
    }

    /// Tells a server to leave.
    pub(super) fn stop(&mut self, index: usize) {
        self.input(index, |server, now| {
            server.handle_command(now, Command::ShutDown);
        });
    }

    pub(super) fn has_left(&self, index: usize) -> bool {
        self.server(index).is_finished()
    }

    pub(super) fn crash(&mut self, index: usize) {
        self.servers[index] = None;
    }

    /// A client that logs in.
    pub(super) fn add(&mut self, k: u16) {
        let player = Player {
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
        self.clients.insert(k, player);
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

    /// A client asks for a token.
    pub(super) fn want(&mut self, k: u16, name: &str, access: Access) {
        let player = self.clients.get_mut(&k).unwrap();
        let m = player.next_msgnum();
        player.wants.insert(name.to_owned(), (m, access));
        self.repeat(k);
    }

    /// A client gives a token back, with new data or as it is.
    pub(super) fn give_back(&mut self, k: u16, name: &str, data: Option<&str>) {
        let player = self.clients.get_mut(&k).unwrap();
        let m = player.next_msgnum();
        player
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

    /// Passes time until something holds, which it must within `limit`; returns how long that took.
    pub(super) fn pass_until(
        &mut self,
        limit: Duration,
        holds: impl Fn(&Self) -> bool,
    ) -> Duration {
        let begin = self.now.monotonic;
        self.run(begin + limit, &holds);
        assert!(
            holds(self),
            "it does not hold: {:?}",
            self.snapshots().collect::<Vec<_>>()
        );
        self.now.monotonic.since(begin)
    }

    /// Delivers what was kept.
    pub(super) fn release(&mut self) {
        self.keeps = |_, _| false;
        for sending in std::mem::take(&mut self.kept) {
            self.put_under_way(sending);
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
            // What waits in a socket is read before time-outs.
            if arrival == Some(due) {
                let (_, sending) = self.under_way.pop_first().unwrap();
                self.deliver(&sending);
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

    fn put_under_way(&mut self, (from, to, bytes): Sending) {
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

    fn deliver(&mut self, (from, to, bytes): &Sending) {
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
                .map(|player| player.hear(bytes, self.now.monotonic));
            self.say(k, said.unwrap_or_default());
        }
    }

    fn input(&mut self, index: usize, input: impl FnOnce(&mut Server, Now)) {
        let Some(server) = &mut self.servers[index] else {
            return;
        };
        input(server, self.now);
        let mut said = Vec::new();
        let mut buf = vec![0xaa; crate::ftn::LONGEST];
        loop {
            if let Some(durable) = server.poll_durable() {
                self.durable[index] = durable;
                server.handle_stored(self.now, Stored::Done);
            } else if let Some(transmit) = server.poll_transmit(&mut buf) {
                said.push((
                    super::notation::server(index),
                    transmit.to,
                    buf[..transmit.len].to_vec(),
                ));
                server.handle_sent(self.now, transmit.ticket, Sent::Accepted);
            } else {
                break;
            }
        }
        while server.poll_event().is_some() {}
        for sending in said {
            self.put_under_way(sending);
        }
    }

    fn repeat(&mut self, k: u16) {
        let now = self.now.monotonic;
        let count = self.servers.len();
        if let Some(player) = self.clients.get_mut(&k) {
            let said = player.repeat(now, count);
            self.say(k, said);
        }
    }

    fn say(&mut self, k: u16, said: Vec<(usize, Vec<u8>)>) {
        for (to, bytes) in said {
            self.put_under_way((client(k), server(to), bytes));
        }
    }
}

impl Player {
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

    /// What is to be said again.
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

    fn hear(&mut self, bytes: &[u8], now: Instant) -> Vec<(usize, Vec<u8>)> {
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
                    (Access::Exclusive, false) => Holding::Exclusive,
                    (Access::Exclusive, true) => Holding::ReturningExclusive,
                    (Access::Shared, false) => Holding::Shared,
                    (Access::Shared, true) => Holding::ReturningShared,
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
