//! Several clients and one server, written down from section 6 as shortly as can be, on a network that loses, doubles and
//! delays; the server forgets its tokens now and then and asks what is held, and clients are cut off for longer than CT.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::ServerState::Ready;
use ring_codec::ftn::{Access, Datagram, Flags, Header, Message, Token};

use super::rig::{CT, encode, ms};
use crate::ftn::catalog::Holding::{
    self, Exclusive, ReturningExclusive, ReturningShared, Shared, Updated,
};
use crate::ftn::catalog::Marker;
use crate::ftn::client::{Client, Command, Event, Net, Options, Standing};
use crate::ftn::{LONGEST, Servers};
use crate::time::{Instant, Now};
use crate::{Machine, Sent};

const CLIENTS: usize = 4;
const NAMES: [&str; 2] = ["a", "b"];
const WALL: u64 = 1_800_000_000_000_000_000;

fn servers() -> Servers {
    Servers::new([("s:1", server())]).unwrap()
}

fn server() -> SocketAddr {
    ([192, 0, 2, 1], 1).into()
}

/// Numbers that differ from seed to seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// What the server knows of one token.
#[derive(Default)]
struct Served {
    holders: BTreeMap<i32, (Access, i64)>,
    queue: Vec<(i32, i64, Access)>,
    acted: BTreeMap<i32, i64>,
    data: Vec<u8>,
}

/// Who says that it holds a token, how, and with what data.
type Claim = (i32, Holding, Vec<u8>);

/// The only server; it always leads.
#[derive(Default)]
struct Server {
    c: i32,
    sessions: BTreeMap<i32, (SocketAddr, Instant)>,
    tokens: BTreeMap<Vec<u8>, Served>,
    floors: BTreeMap<i32, i64>,
    /// The sessions that have not answered the survey.
    awaited: BTreeSet<i32>,
    claims: BTreeMap<Vec<u8>, Vec<Claim>>,
    out: Vec<(SocketAddr, Vec<u8>)>,
    next_id: i32,
}

impl Server {
    fn say(&mut self, to: i32, address: SocketAddr, message: Message<'_>) {
        let ssig = servers().signature();
        let header = Header { from: 0, to, ssig };
        self.out.push((address, encode(header, message)));
    }

    fn tell(&mut self, id: i32, message: Message<'_>) {
        if let Some(&(address, _)) = self.sessions.get(&id) {
            self.say(id, address, message);
        }
    }

    fn config(&mut self, to: i32, address: SocketAddr) {
        let leader = self.c;
        let sstates = (&[Ready]).into();
        self.say(to, address, Message::Config { leader, sstates });
    }

    /// It loses its memory of tokens, and asks who holds what.
    fn forget(&mut self) {
        self.c += 1;
        self.tokens.clear();
        self.claims.clear();
        self.floors.clear();
        self.awaited = self.sessions.keys().copied().collect();
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let datagram = Datagram::decode(bytes).unwrap();
        let id = datagram.header().from;
        if let Message::Login { .. } = datagram.message() {
            let known = self.sessions.iter().find(|(_, session)| session.0 == from);
            let id = known.map(|(&id, _)| id);
            let id = id.unwrap_or_else(|| {
                self.next_id += 1;
                (1 << 20) + self.next_id
            });
            self.sessions.insert(id, (from, now));
            self.config(id, from);
            return;
        }
        match self.sessions.get_mut(&id) {
            Some(session) if session.0 == from => session.1 = now,
            _ => return self.config(0, from),
        }
        match datagram.message() {
            Message::Return {
                msgnum,
                token: Token { name: b"", .. },
                ..
            } => self.tell(id, Message::Confirm { msgnum }),
            Message::Catalog { holdings } => self.catalog(id, &holdings.iter().collect::<Vec<_>>()),
            Message::Request {
                msgnum,
                token,
                access,
            } if self.awaited.is_empty() => self.request(id, msgnum, token.name, access),
            Message::Return {
                msgnum,
                token,
                flags,
            } if self.awaited.is_empty() => self.give(id, msgnum, token, flags),
            _ => {}
        }
    }

    fn catalog(&mut self, id: i32, entries: &[Token<'_>]) {
        let marker = Marker::parse(entries[0].data).unwrap();
        assert_eq!(marker.parts, 1);
        if i64::from(marker.configuration) != i64::from(self.c) || !self.awaited.remove(&id) {
            return;
        }
        self.floors.insert(id, marker.floor);
        let mut kind = Holding::Unknown;
        for Token { name, data } in &entries[1..] {
            if name.is_empty() {
                kind = Holding::parse(data).unwrap();
            } else {
                let claims = self.claims.entry(name.to_vec()).or_default();
                claims.push((id, kind, data.to_vec()));
            }
        }
        self.settle();
    }

    /// The result of a survey.
    fn settle(&mut self) {
        if !self.awaited.is_empty() {
            return;
        }
        for (name, mut claims) in std::mem::take(&mut self.claims) {
            claims.retain(|claim| self.sessions.contains_key(&claim.0));
            let has = |kinds: &[Holding]| claims.iter().any(|claim| kinds.contains(&claim.1));
            let (kinds, access): (&[Holding], _) = if has(&[Exclusive]) {
                (&[Exclusive], Access::Exclusive)
            } else if has(&[Shared, Updated]) {
                (&[Shared, Updated, ReturningShared], Access::Shared)
            } else if has(&[ReturningExclusive]) {
                (&[ReturningExclusive], Access::Exclusive)
            } else {
                (&[ReturningShared], Access::Shared)
            };
            let holders: BTreeMap<_, _> = claims
                .iter()
                .filter(|claim| kinds.contains(&claim.1))
                .map(|claim| (claim.0, (access, 0)))
                .collect();
            // Of two that are returning it, the RETURN of one was applied, and its CONFIRM lost.
            let is_one = holders.len() == 1 || kinds != [Exclusive];
            assert!(is_one, "two exclusive claims: {claims:?}");
            let order = [
                Exclusive,
                ReturningExclusive,
                Updated,
                ReturningShared,
                Shared,
            ];
            let data = order.iter().find_map(|kind| {
                let claim = claims.iter().find(|claim| claim.1 == *kind)?;
                Some(claim.2.clone())
            });
            let served = Served {
                holders,
                data: data.unwrap_or_default(),
                ..Served::default()
            };
            self.tokens.insert(name, served);
        }
    }

    fn is_late(&self, id: i32, m: i64) -> bool {
        self.floors.get(&id).is_some_and(|&floor| m < floor)
    }

    fn request(&mut self, id: i32, m: i64, name: &[u8], access: Access) {
        let late = self.is_late(id, m);
        let token = self.tokens.entry(name.to_vec()).or_default();
        if late || token.acted.get(&id).is_some_and(|&acted| m <= acted) {
            return;
        }
        if let Some(&(held, grant)) = token.holders.get(&id) {
            if m < grant {
                return;
            }
            let is_at_once = m == grant
                || held == access
                || access == Access::Shared
                || token.holders.len() == 1;
            if is_at_once {
                let access = if m == grant { held } else { access };
                token.holders.insert(id, (access, m));
                token.queue.retain(|&(other, ..)| other != id);
                self.granted(id, m, name);
                self.serve();
                return;
            }
        }
        match token.queue.iter_mut().find(|entry| entry.0 == id) {
            Some(entry) if entry.1 >= m => return,
            Some(entry) if entry.2 == access => entry.1 = m,
            _ => {
                token.queue.retain(|&(other, ..)| other != id);
                token.queue.push((id, m, access));
            }
        }
        self.serve();
    }

    fn granted(&mut self, id: i32, msgnum: i64, name: &[u8]) {
        let data = self.tokens[name].data.clone();
        let token = Token { name, data: &data };
        self.tell(id, Message::Grant { msgnum, token });
    }

    /// Grants what the heads of the queues can have.
    fn serve(&mut self) {
        let names: Vec<Vec<u8>> = self.tokens.keys().cloned().collect();
        for name in names {
            while let Some(token) = self.tokens.get_mut(&name) {
                let Some(&(id, m, access)) = token.queue.first() else {
                    break;
                };
                let mut others = token.holders.iter().filter(|(other, _)| **other != id);
                let fits = others
                    .all(|(_, &(held, _))| held == Access::Shared && access == Access::Shared);
                if !fits {
                    break;
                }
                token.queue.remove(0);
                token.holders.insert(id, (access, m));
                self.granted(id, m, &name);
            }
        }
    }

    fn give(&mut self, id: i32, m: i64, token: Token<'_>, flags: Flags) {
        if self.is_late(id, m) {
            return;
        }
        let served = self.tokens.entry(token.name.to_vec()).or_default();
        let acted = served.acted.entry(id).or_default();
        let is_new = *acted < m;
        *acted = m.max(*acted);
        let grant = served.holders.get(&id).map(|held| held.1);
        if is_new && grant.is_some_and(|grant| grant < m) {
            if flags != Flags::Deassign {
                served.data = token.data.to_vec();
            }
            if flags != Flags::Update {
                served.holders.remove(&id);
            }
        }
        if flags != Flags::Update {
            served.queue.retain(|entry| entry.0 != id || entry.1 >= m);
        }
        self.tell(id, Message::Confirm { msgnum: m });
        self.serve();
    }

    /// Every 100 ms: silent sessions end, REVOKEs and questions are repeated.
    fn tick(&mut self, now: Instant) {
        let silent = |last: Instant| now.since(last) >= CT;
        let ended: Vec<i32> = self
            .sessions
            .iter()
            .filter(|(_, session)| silent(session.1))
            .map(|(&id, _)| id)
            .collect();
        for id in ended {
            self.sessions.remove(&id);
            for token in self.tokens.values_mut() {
                token.holders.remove(&id);
                token.queue.retain(|entry| entry.0 != id);
            }
            if self.awaited.remove(&id) {
                self.settle();
            }
        }
        for id in self.awaited.clone() {
            if let Some(&(address, _)) = self.sessions.get(&id) {
                self.config(id, address);
            }
        }
        if self.awaited.is_empty() {
            self.serve();
            self.revoke();
        }
    }

    fn revoke(&mut self) {
        let mut revokes = Vec::new();
        for (name, token) in &self.tokens {
            if let Some(&(head, ..)) = token.queue.first() {
                let others = token.holders.keys().filter(|id| **id != head);
                revokes.extend(others.map(|&id| (id, name.clone())));
            }
        }
        for (id, name) in revokes {
            self.tell(id, Message::Revoke { name: &name });
        }
    }
}

/// A client with its socket.
struct Place {
    client: Client,
    address: SocketAddr,
    /// Until when nothing comes through.
    cut: Instant,
    grants: u32,
}

struct World {
    now: Instant,
    chance: Chance,
    server: Server,
    places: Vec<Place>,
    /// By time of arrival: from, to, bytes.
    network: BTreeMap<(Instant, u64), (SocketAddr, SocketAddr, Vec<u8>)>,
    sent: u64,
    ports: u16,
    faults: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let options = Options {
            servers: servers(),
            client_timeout: CT,
        };
        let mut world = Self {
            now: Instant::from_nanos(1_000_000_000),
            chance: Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            server: Server {
                c: 1,
                ..Server::default()
            },
            places: Vec::new(),
            network: BTreeMap::new(),
            sent: 0,
            ports: 1_000,
            faults: true,
        };
        for _ in 0..CLIENTS {
            let client = Client::new(options.clone());
            let (address, cut, grants) = (server(), Instant::default(), 0);
            world.places.push(Place {
                client,
                address,
                cut,
                grants,
            });
            world.new_socket(world.places.len() - 1);
        }
        world
    }

    fn new_socket(&mut self, at: usize) {
        self.ports += 1;
        let port = self.ports;
        self.places[at].address = ([192, 0, 2, 7], port).into();
        self.input(at, |client, now| client.handle_link(now, Net::Up { port }));
    }

    fn transmit(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        let now = self.now;
        let is_cut = |place: &Place| [from, to].contains(&place.address) && now < place.cut;
        if self.places.iter().any(is_cut) {
            return;
        }
        let copies = match self.chance.below(10) {
            0 if self.faults => 0,
            1 if self.faults => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let delay = match self.chance.below(20) {
                0 if self.faults => ms(self.chance.below(4_000)),
                _ => Duration::from_micros(100 + self.chance.below(900)),
            };
            self.sent += 1;
            let arrival = (self.now + delay, self.sent);
            self.network.insert(arrival, (from, to, bytes.to_vec()));
        }
    }

    fn input(&mut self, at: usize, input: impl FnOnce(&mut Client, Now)) {
        let (monotonic, wall) = (self.now, WALL);
        let now = Now { monotonic, wall };
        input(&mut self.places[at].client, now);
        let mut buf = vec![0; LONGEST];
        while let Some(transmit) = self.places[at].client.poll_transmit(&mut buf) {
            let (from, to) = (self.places[at].address, transmit.to);
            self.transmit(from, to, &buf[..transmit.len]);
            let place = &mut self.places[at];
            place
                .client
                .handle_sent(now, transmit.ticket, Sent::Accepted);
        }
        while let Some(event) = self.places[at].client.poll_event() {
            match event {
                Event::NewSocket => self.new_socket(at),
                Event::Granted { .. } => self.places[at].grants += 1,
                _ => {}
            }
        }
    }

    /// What a program does at random; at the end it only gives back.
    fn command(&mut self, at: usize, is_end: bool) {
        let name = NAMES[usize::try_from(self.chance.below(2)).unwrap()];
        let bytes: Box<[u8]> = name.as_bytes().into();
        let request = |access| Command::Request {
            name: bytes.clone(),
            access,
            fence: false,
        };
        let kind = if is_end { 6 } else { self.chance.below(10) };
        let command = match kind {
            0 | 1 => request(Access::Exclusive),
            2 | 3 => request(Access::Shared),
            4 => Command::Update {
                name: bytes,
                data: (*b"d").into(),
            },
            5 => Command::Cancel { name: bytes },
            _ => Command::Release { name: bytes },
        };
        self.input(at, |client, now| client.handle_command(now, command));
    }

    /// No two live clients hold a token unless all share it.
    fn check(&self, seed: u64) {
        for name in NAMES {
            let holdings = self.places.iter().filter_map(|place| {
                let is_live = place.client.lease().is_some_and(|lease| self.now < lease);
                let holding = place.client.holding(name.as_bytes()).filter(|_| is_live)?;
                Some(holding.access)
            });
            let held: Vec<Access> = holdings.collect();
            let is_exclusive = held.contains(&Access::Exclusive);
            assert!(
                !is_exclusive || held.len() == 1,
                "seed {seed}: {name} {held:?}"
            );
        }
    }

    /// Everything that is due by the next millisecond.
    fn turn(&mut self) {
        let end = self.now + ms(1);
        loop {
            let timeouts = self.places.iter().enumerate();
            let timeout = timeouts
                .filter_map(|(at, place)| Some((place.client.poll_timeout()?, at)))
                .min();
            let arrival = self.network.first_key_value().map(|(key, _)| *key);
            match (arrival, timeout) {
                (Some((at, number)), other)
                    if at <= end && other.is_none_or(|(due, _)| at <= due) =>
                {
                    self.now = self.now.max(at);
                    let (from, to, bytes) = self.network.remove(&(at, number)).unwrap();
                    self.arrive(from, to, &bytes);
                }
                (_, Some((due, at))) if due <= end => {
                    self.now = self.now.max(due);
                    self.input(at, Client::handle_timeout);
                }
                _ => break,
            }
        }
        self.now = end;
    }

    fn arrive(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if to == server() {
            self.server.receive(self.now, from, bytes);
            self.flush();
        } else if let Some(at) = self.places.iter().position(|place| place.address == to) {
            let age = Duration::ZERO;
            self.input(at, |client, now| {
                client.handle_message(now, from, bytes, age);
            });
        }
    }

    fn flush(&mut self) {
        for (to, bytes) in std::mem::take(&mut self.server.out) {
            self.transmit(server(), to, &bytes);
        }
    }
}

fn live_a_while(seed: u64) -> u32 {
    let mut world = World::new(seed);
    for millisecond in 0..90_000_u64 {
        world.faults = millisecond < 60_000;
        world.turn();
        world.check(seed);
        if millisecond % 100 == 0 {
            world.server.tick(world.now);
            world.flush();
        }
        if world.chance.below(150) == 0 {
            let at = usize::try_from(world.chance.below(CLIENTS as u64)).unwrap();
            // Who is cut off holds on to what it has.
            if world.places[at].cut <= world.now {
                world.command(at, !world.faults);
            }
        }
        if world.faults && world.chance.below(4_000) == 0 {
            world.server.forget();
        }
        if world.faults && world.chance.below(15_000) == 0 {
            let at = usize::try_from(world.chance.below(CLIENTS as u64)).unwrap();
            world.places[at].cut = world.now + ms(world.chance.below(25_000));
        }
    }
    for place in &world.places {
        let standing = place.client.standing();
        assert!(
            matches!(standing, Standing::Live { .. }),
            "seed {seed}: {standing:?}"
        );
        let session = place.client.phase.session().unwrap();
        assert!(
            session.tokens.known.is_empty(),
            "seed {seed}: {:?}",
            session.tokens.known
        );
    }
    world.places.iter().map(|place| place.grants).sum()
}

#[test]
fn no_two_live_clients_hold_a_token_unless_all_share_it_and_every_request_ends() {
    let grants: u32 = (1..=20).map(live_a_while).sum();
    assert!(grants > 1_000, "{grants}");
}
