//! Several clients and a server on a network that loses, doubles and delays; clients are cut off for longer than CT.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use super::rig::*;
use super::server::{Server, server, servers};
use crate::ftn::LONGEST;
use crate::time::{Instant, Now};
use crate::{Machine, Sent};

const CLIENTS: usize = 4;
const NAMES: [&str; 2] = ["a", "b"];
const WALL: u64 = 1_800_000_000_000_000_000;

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
            introduction: String::new(),
        };
        let mut world = Self {
            now: Instant::from_nanos(1_000_000_000),
            chance: Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            server: Server::default(),
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
            0 | 1 => request(Exclusive),
            2 | 3 => request(Shared),
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
            let is_exclusive = held.contains(&Exclusive);
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
