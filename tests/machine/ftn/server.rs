//! One server, with the checks of `docs/token-service/protocol/promises.md`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use arbitrary::Arbitrary;
use ring_codec::ftn::{Datagram, Message};
use ring_proto::Machine;
use ring_proto::ftn::server::{
    Command, Durable, NetworkState, Options, Server, Snapshot, TOKEN_BYTES, session_bytes,
};
use ring_proto::time::{Instant, Now};

use super::message::{MessageContext, ScriptedMessage};
use super::script::{Peer, SharedStep};
use super::shared_steps::TestedMachine;
use super::{SERVERS, client_address, drain, encode, server_address, servers};
use crate::script::{Clock, read};

/// The start of 2026 in seconds since 1970. Servers derive the numbers of configurations from the time since the start
/// of 2026.
const EPOCH: u64 = 1_767_225_600;

#[derive(Debug, Arbitrary)]
struct ServerOptions {
    quorum: u8,
    grace: bool,
    /// The memory for tokens in units of 64 bytes, in addition to the memory for three small tokens.
    memory: u8,
    clients: u8,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Shared(SharedStep),
    Disk(bool),
    Net(bool),
    /// Restarts the server with its stored state.
    Restart,
    ShutDown,
}

struct ServerHarness {
    server: Server,
    options: Options,
    clock: Clock,
    /// The latest time that the server's clock has ever shown.
    latest: u64,
    durable: Durable,
    disk_full: bool,
    refuses: bool,
    /// The last id that the server gave to each client's address.
    ids: BTreeMap<SocketAddr, i32>,
    msgnum: i64,
}

pub(super) fn run(data: &[u8]) {
    let Some((options, steps)) = read::<ServerOptions, Step>(data) else {
        return;
    };
    let mut harness = ServerHarness::new(&options);
    for step in steps {
        harness.step(step);
    }
}

impl TestedMachine for ServerHarness {
    fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    fn deadline(&self) -> Option<Instant> {
        self.server.poll_timeout()
    }

    fn wake(&mut self) {
        self.input(None, Machine::handle_timeout);
    }

    fn encode(
        &mut self,
        from: Peer,
        to: Option<i8>,
        what: ScriptedMessage,
    ) -> Option<(SocketAddr, Vec<u8>)> {
        self.msgnum += 1;
        let context = MessageContext {
            what,
            configuration: self.snapshot().configuration,
            msgnum: self.msgnum,
        };
        let (address, id) = self.peer(from);
        Some((address, encode(id, to.map_or(0, i32::from), &context)?))
    }

    fn address(&self, from: Peer) -> SocketAddr {
        self.peer(from).0
    }

    fn receive(&mut self, from: SocketAddr, bytes: &[u8], age: Duration) {
        self.input(Some(from), |server, now| {
            server.handle_message(now, from, bytes, age);
        });
    }

    fn refuse(&mut self, refuses: bool) {
        self.refuses = refuses;
    }
}

impl ServerHarness {
    fn new(options: &ServerOptions) -> Self {
        let client_timeout = Duration::from_secs(3);
        let options = Options {
            heartbeat: Duration::from_millis(200),
            server_timeout: Duration::from_millis(800),
            client_timeout,
            grace: if options.grace {
                client_timeout
            } else {
                Duration::ZERO
            },
            quorum: usize::from(options.quorum) % SERVERS + 1,
            max_memory: 1_000 + usize::from(options.memory) * 64,
            max_clients: usize::from(options.clients) % 6 + 1,
        };
        let durable = Durable::default();
        let mut this = Self {
            server: Server::new(options, servers(), 0, durable, 7).expect("valid options"),
            options,
            clock: Clock::new(),
            latest: 0,
            durable,
            disk_full: false,
            refuses: false,
            ids: BTreeMap::new(),
            msgnum: 1_000,
        };
        this.input(None, |server, now| {
            server.handle_link(now, NetworkState::Up);
        });
        this
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Shared(step) => self.apply(step),
            Step::Disk(full) => self.disk_full = full,
            Step::Net(up) => {
                let net = if up {
                    NetworkState::Up
                } else {
                    NetworkState::Down
                };
                self.input(None, |server, now| server.handle_link(now, net));
            }
            Step::Restart => {
                let seed = self.clock.0.wall;
                self.server = Server::new(self.options, servers(), 0, self.durable, seed)
                    .expect("the options are valid, as at the first start");
                self.input(None, |server, now| {
                    server.handle_link(now, NetworkState::Up);
                });
            }
            Step::ShutDown => {
                self.input(None, |server, now| {
                    server.handle_command(now, Command::ShutDown);
                });
            }
        }
    }

    fn snapshot(&self) -> Snapshot {
        self.server.snapshot(self.clock.0.monotonic)
    }

    /// Returns the address of a peer, and the id that the peer sends.
    fn peer(&self, peer: Peer) -> (SocketAddr, i32) {
        match peer {
            Peer::Server(index) => {
                let index = usize::from(index) % SERVERS;
                (server_address(index), i32::try_from(index).unwrap_or(0))
            }
            Peer::Client(own, of) => {
                let address = client_address(own);
                let context = client_address(of.unwrap_or(own));
                let id = self.ids.get(&context).copied();
                (address, id.unwrap_or((1 << 20) + i32::from(own % 8)))
            }
        }
    }

    /// Gives the server an input, which may be a datagram, and checks the server.
    fn input(&mut self, from: Option<SocketAddr>, input: impl FnOnce(&mut Server, Now)) {
        let known = self.snapshot().sessions;
        self.latest = self.latest.max(self.clock.0.wall);
        input(&mut self.server, self.clock.0);
        let done = drain(&mut self.server, self.clock.0, self.refuses, self.disk_full);
        if let Some(durable) = done.stored {
            assert!(
                durable.configuration >= self.durable.configuration,
                "the stored configuration goes back"
            );
            self.check_step(from, durable.configuration);
            self.durable = durable;
        }
        let snapshot = self.snapshot();
        if !done.sent.is_empty() {
            assert!(
                snapshot.configuration <= self.durable.configuration,
                "a datagram leaves before its number is stored"
            );
        }
        self.check_answers(from, &known, &done.sent);
        let sessions = snapshot.sessions.len();
        let least = bytes(&self.server) + sessions * session_bytes(SERVERS);
        // Sessions that hold a token or wait for one take more memory.
        assert!(
            snapshot.memory_bytes == least || sessions > 0 && snapshot.memory_bytes > least,
            "the server counts {} bytes, but its tokens take at least {least}",
            snapshot.memory_bytes
        );
        // Another leader's list may be longer, because the options of that leader may differ.
        let is_servers = (0..SERVERS).any(|index| Some(server_address(index)) == from);
        let most = self.options.max_clients.max(known.len());
        assert!(
            is_servers || snapshot.sessions.len() <= most,
            "too many sessions"
        );
        check_tokens(&self.server, &snapshot.sessions);
    }

    /// Checks the growth of the configuration's number. A message of a client raises the number at most to the next
    /// number that this server could choose as the leader. A message of a server raises the number at most 30 days
    /// beyond the known number or the clock.
    fn check_step(&self, from: Option<SocketAddr>, to: u64) {
        let Some(from) = from else {
            return;
        };
        let servers = SERVERS as u64;
        let is_server = (0..SERVERS).any(|index| server_address(index) == from);
        let known = self.durable.configuration;
        let most = if is_server {
            let periods = (self.latest / 1_000_000_000).saturating_sub(EPOCH) / 16;
            known.max(periods * servers) + 163_025 * servers
        } else {
            known + servers
        };
        assert!(
            to <= most,
            "{from} has moved the number from {known} to {to}"
        );
    }

    /// Checks that a peer without a session gets at most one datagram of 26 + n bytes for each datagram that it sends
    /// (Q6).
    fn check_answers(
        &mut self,
        from: Option<SocketAddr>,
        known: &[(i32, SocketAddr)],
        sent: &[(SocketAddr, Vec<u8>)],
    ) {
        let sessions = self.snapshot().sessions;
        let mut strange = 0;
        for (to, bytes) in sent {
            let datagram =
                Datagram::decode(bytes).expect("the harness has decoded every sent datagram");
            if let Message::Config { .. } = datagram.message()
                && datagram.header().to != 0
            {
                self.ids.insert(*to, datagram.header().to);
            }
            let is_known = (0..SERVERS).any(|index| server_address(index) == *to)
                || sessions
                    .iter()
                    .chain(known)
                    .any(|(_, address)| address == to);
            if !is_known {
                strange += 1;
                assert_eq!(
                    Some(*to),
                    from,
                    "the server sends to a peer that has sent nothing"
                );
                assert!(
                    bytes.len() <= 26 + SERVERS,
                    "the server sends {} bytes to a peer without a session",
                    bytes.len()
                );
            }
        }
        assert!(
            strange <= 1,
            "the server sends {strange} datagrams for one datagram of a peer without a session"
        );
    }
}

/// Returns the memory of the server's tokens.
fn bytes(server: &Server) -> usize {
    let tokens = server.tokens();
    tokens
        .map(|token| token.name.len() + token.data.len() + TOKEN_BYTES)
        .sum()
}

/// Checks that each token is exclusive to one session, shared, or free. Checks that ended sessions hold no tokens
/// (promise 1).
fn check_tokens(server: &Server, sessions: &[(i32, SocketAddr)]) {
    for token in server.tokens() {
        let holders: Vec<i32> = token.holders().collect();
        let is_right = match token.access {
            0 => holders.is_empty(),
            -1 => holders.len() == 1,
            _ => !holders.is_empty(),
        };
        assert!(
            is_right,
            "{holders:?} hold {:?} as {}",
            token.name, token.access
        );
        let has_ended = |id: &i32| !sessions.iter().any(|(known, _)| known == id);
        assert!(
            !holders.iter().any(has_ended),
            "a session that has ended holds {:?}",
            token.name
        );
    }
}
