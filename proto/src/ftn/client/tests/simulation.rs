//! Several clients and a server on a network that loses, duplicates and delays messages. Sometimes a client is cut off
//! for longer than CT.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use super::rig::*;
use super::server::{TestServer, server, servers};
use crate::ftn::DATAGRAM_BYTES_MAX;
use crate::time::{Instant, Now};
use crate::{Machine, SendOutcome};

const CLIENTS: usize = 4;
const NAMES: [&str; 2] = ["a", "b"];
const WALL: u64 = 1_800_000_000_000_000_000;

/// Random numbers that depend on the seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// A client with its socket.
struct Node {
    client: Client,
    address: SocketAddr,
    /// End of the time during which the client is cut off.
    cut: Instant,
    grants: u32,
}

struct Simulation {
    now: Instant,
    random: Random,
    server: TestServer,
    nodes: Vec<Node>,
    /// Messages by time of arrival: sender, receiver, bytes.
    network: BTreeMap<(Instant, u64), (SocketAddr, SocketAddr, Vec<u8>)>,
    sent: u64,
    ports: u16,
    faults: bool,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let options = Options {
            servers: servers(),
            client_timeout: CT,
            introduction: String::new(),
        };
        let mut simulation = Self {
            now: Instant::from_nanos(1_000_000_000),
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            server: TestServer::default(),
            nodes: Vec::new(),
            network: BTreeMap::new(),
            sent: 0,
            ports: 1_000,
            faults: true,
        };
        for _ in 0..CLIENTS {
            let client = Client::new(options.clone());
            let (address, cut, grants) = (server(), Instant::default(), 0);
            simulation.nodes.push(Node {
                client,
                address,
                cut,
                grants,
            });
            simulation.new_socket(simulation.nodes.len() - 1);
        }
        simulation
    }

    fn new_socket(&mut self, at: usize) {
        self.ports += 1;
        let port = self.ports;
        self.nodes[at].address = ([192, 0, 2, 7], port).into();
        self.input(at, |client, now| {
            client.handle_link(now, SocketState::Up { port });
        });
    }

    fn transmit(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        let now = self.now;
        let is_cut = |node: &Node| [from, to].contains(&node.address) && now < node.cut;
        if self.nodes.iter().any(is_cut) {
            return;
        }
        let copies = match self.random.below(10) {
            0 if self.faults => 0,
            1 if self.faults => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let delay = match self.random.below(20) {
                0 if self.faults => ms(self.random.below(4_000)),
                _ => Duration::from_micros(100 + self.random.below(900)),
            };
            self.sent += 1;
            let arrival = (self.now + delay, self.sent);
            self.network.insert(arrival, (from, to, bytes.to_vec()));
        }
    }

    fn input(&mut self, at: usize, input: impl FnOnce(&mut Client, Now)) {
        let (monotonic, wall) = (self.now, WALL);
        let now = Now { monotonic, wall };
        input(&mut self.nodes[at].client, now);
        let mut buf = vec![0; DATAGRAM_BYTES_MAX];
        while let Some(transmit) = self.nodes[at].client.poll_transmit(&mut buf) {
            let (from, to) = (self.nodes[at].address, transmit.to);
            self.transmit(from, to, &buf[..transmit.len]);
            let node = &mut self.nodes[at];
            node.client
                .handle_sent(now, transmit.ticket, SendOutcome::Accepted);
        }
        while let Some(event) = self.nodes[at].client.poll_event() {
            match event {
                Event::NewSocket => self.new_socket(at),
                Event::Granted { .. } => self.nodes[at].grants += 1,
                _ => {}
            }
        }
    }

    /// Gives a client a random command. If `is_end` is set, the client only releases tokens.
    fn command(&mut self, at: usize, is_end: bool) {
        let name = NAMES[usize::try_from(self.random.below(2)).unwrap()];
        let bytes: Box<[u8]> = name.as_bytes().into();
        let request = |access| Command::Request {
            name: bytes.clone(),
            access,
            fence: false,
        };
        let kind = if is_end { 6 } else { self.random.below(10) };
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

    /// Checks that if two live clients hold the same token, both clients share it.
    fn check(&self, seed: u64) {
        for name in NAMES {
            let holdings = self.nodes.iter().filter_map(|node| {
                let is_live = node.client.lease().is_some_and(|lease| self.now < lease);
                let holding = node
                    .client
                    .held_token(name.as_bytes())
                    .filter(|_| is_live)?;
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

    /// Handles everything that is due by the next millisecond.
    fn run_millisecond(&mut self) {
        let end = self.now + ms(1);
        loop {
            let timeouts = self.nodes.iter().enumerate();
            let timeout = timeouts
                .filter_map(|(at, node)| Some((node.client.poll_timeout()?, at)))
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
        } else if let Some(at) = self.nodes.iter().position(|node| node.address == to) {
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

fn run_seed(seed: u64) -> u32 {
    let mut simulation = Simulation::new(seed);
    for millisecond in 0..90_000_u64 {
        simulation.faults = millisecond < 60_000;
        simulation.run_millisecond();
        simulation.check(seed);
        if millisecond % 100 == 0 {
            simulation.server.tick(simulation.now);
            simulation.flush();
        }
        if simulation.random.below(150) == 0 {
            let at = usize::try_from(simulation.random.below(CLIENTS as u64)).unwrap();
            // A client that is cut off keeps its tokens.
            if simulation.nodes[at].cut <= simulation.now {
                simulation.command(at, !simulation.faults);
            }
        }
        if simulation.faults && simulation.random.below(4_000) == 0 {
            simulation.server.forget();
        }
        if simulation.faults && simulation.random.below(15_000) == 0 {
            let at = usize::try_from(simulation.random.below(CLIENTS as u64)).unwrap();
            simulation.nodes[at].cut = simulation.now + ms(simulation.random.below(25_000));
        }
    }
    for node in &simulation.nodes {
        let standing = node.client.state();
        assert!(
            matches!(standing, ClientState::Live { .. }),
            "seed {seed}: {standing:?}"
        );
        let session = node.client.phase.session().unwrap();
        assert!(
            session.tokens.by_name.is_empty(),
            "seed {seed}: {:?}",
            session.tokens.by_name
        );
    }
    simulation.nodes.iter().map(|node| node.grants).sum()
}

#[test]
fn tokens_are_exclusive_and_every_request_ends() {
    let grants: u32 = (1..=20).map(run_seed).sum();
    assert!(grants > 1_000, "{grants}");
}
