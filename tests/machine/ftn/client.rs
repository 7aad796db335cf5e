//! One client, with the checks of `docs/token-service/protocol/sessions.md` and `tokens.md`.

use std::net::SocketAddr;
use std::time::Duration;

use arbitrary::Arbitrary;
use ring_codec::ftn::{Access, Datagram, Message};
use ring_proto::Machine;
use ring_proto::ftn::client::{Client, ClientState, Command, Event, Options, SocketState};
use ring_proto::time::{Instant, Now};

use super::message::{MessageContext, ScriptedMessage};
use super::script::{Peer, SharedStep};
use super::shared_steps::TestedMachine;
use super::{SERVERS, client_address, drain, encode, server_address, servers};
use crate::script::{Clock, read};

/// The names of the tokens that the client requests.
const NAMES: [&[u8]; 3] = [b"a", b"b", b"swarm"];

#[derive(Debug, Arbitrary)]
enum Step {
    Shared(SharedStep),
    Command(ScriptedCommand),
    Down,
    /// Changes the port although the client did not ask for a change.
    Port(u16),
}

#[derive(Debug, Arbitrary)]
enum ScriptedCommand {
    Request {
        name: u8,
        shared: bool,
        fence: bool,
    },
    Update {
        name: u8,
        data: Vec<u8>,
    },
    Release(u8),
    UpdateAndRelease {
        name: u8,
        data: Vec<u8>,
    },
    Cancel(u8),
    List {
        server: u8,
        after: u8,
    },
    Logout,
    /// An invalid name, or too much data.
    Illegal {
        name: bool,
    },
}

struct ClientHarness {
    client: Client,
    options: Options,
    clock: Clock,
    refuses: bool,
    port: u16,
    /// The last id that the client sent.
    id: i32,
    /// The last configuration that the client knew.
    configuration: u64,
    /// The number of the last REQUEST or RETURN of the client.
    msgnum: i64,
    has_ended: bool,
}

pub(super) fn run(data: &[u8]) {
    let Some(((), steps)) = read::<(), Step>(data) else {
        return;
    };
    let mut harness = ClientHarness::new();
    for step in steps {
        harness.step(step);
    }
}

impl TestedMachine for ClientHarness {
    fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    fn deadline(&self) -> Option<Instant> {
        self.client.poll_timeout()
    }

    fn wake(&mut self) {
        self.input(Machine::handle_timeout);
    }

    fn encode(
        &mut self,
        from: Peer,
        to: Option<i8>,
        what: ScriptedMessage,
    ) -> Option<(SocketAddr, Vec<u8>)> {
        let context = MessageContext {
            what,
            configuration: self.configuration,
            msgnum: self.msgnum,
        };
        let (address, id) = peer(from);
        let to = to.map_or(self.id, |to| (1 << 20) + i32::from(to));
        Some((address, encode(id, to, &context)?))
    }

    fn address(&self, from: Peer) -> SocketAddr {
        peer(from).0
    }

    fn receive(&mut self, from: SocketAddr, bytes: &[u8], age: Duration) {
        self.input(|client, now| client.handle_message(now, from, bytes, age));
    }

    fn refuse(&mut self, refuses: bool) {
        self.refuses = refuses;
    }
}

impl ClientHarness {
    fn new() -> Self {
        let options = Options {
            servers: servers(),
            client_timeout: Duration::from_secs(3),
            introduction: String::new(),
        };
        let clock = Clock::new();
        let mut this = Self {
            client: Client::new(options.clone()),
            options,
            clock,
            refuses: false,
            port: 20_000,
            id: 0,
            configuration: 1,
            msgnum: 0,
            has_ended: false,
        };
        this.bind();
        this
    }

    fn bind(&mut self) {
        let port = self.port;
        self.input(|client, now| client.handle_link(now, SocketState::Up { port }));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Shared(step) => self.apply(step),
            Step::Command(order) => {
                let command = command(&order);
                self.input(|client, now| client.handle_command(now, command));
            }
            Step::Down => self.input(|client, now| client.handle_link(now, SocketState::Down)),
            Step::Port(port) => {
                self.port = port.max(1);
                self.bind();
            }
        }
    }

    fn input(&mut self, input: impl FnOnce(&mut Client, Now)) {
        input(&mut self.client, self.clock.0);
        let done = drain(&mut self.client, self.clock.0, self.refuses, false);
        let refuses =
            |event: &Event| matches!(event, Event::Refused { .. } | Event::ListingFailed { .. });
        let is_over = done.sent.is_empty() && done.events.iter().all(refuses);
        assert!(
            !self.has_ended || is_over,
            "the client continues after its end: {:?}",
            done.events
        );
        for (to, bytes) in &done.sent {
            let is_server = (0..SERVERS).any(|index| server_address(index) == *to);
            assert!(is_server, "the client sends to {to}, which is no server");
            let datagram =
                Datagram::decode(bytes).expect("the harness has decoded every sent datagram");
            self.id = datagram.header().from;
            if let Message::Request { msgnum, .. } | Message::Return { msgnum, .. } =
                datagram.message()
            {
                self.msgnum = self.msgnum.max(msgnum);
            }
        }
        let mut wants_socket = false;
        for event in &done.events {
            match event {
                Event::NewSocket => wants_socket = true,
                Event::LoggedOut { .. } => self.has_ended = true,
                Event::Adopted { configuration } => self.configuration = configuration.number(),
                Event::Granted { data, .. } => {
                    assert!(data.len() <= ring_proto::ftn::DATA_BYTES_MAX);
                    assert!(
                        self.client.live_since().is_some(),
                        "a token was granted without a session"
                    );
                }
                _ => {}
            }
        }
        self.check_lease(self.clock.0.monotonic);
        if wants_socket {
            self.port = self.port.wrapping_add(1).max(1);
            self.bind();
        }
    }

    /// Checks that a lease lasts at most ¾ CT after a renewal, and that a client without a lease holds no token.
    fn check_lease(&self, now: Instant) {
        let lease = self.client.lease();
        let longest = now + self.options.lease();
        // While the caller's clock is behind an earlier time, the client's clock does not advance.
        assert!(lease.is_none_or(|end| end <= longest + Duration::from_secs(90)));
        let is_live = matches!(self.client.state(), ClientState::Live { .. });
        assert_eq!(
            lease.is_some(),
            is_live,
            "a client with a lease has a session"
        );
        let holds = NAMES
            .iter()
            .any(|name| self.client.held_token(name).is_some());
        assert!(
            is_live || !holds,
            "the client holds a token without a lease"
        );
    }
}

fn peer(peer: Peer) -> (SocketAddr, i32) {
    match peer {
        Peer::Server(index) => {
            let index = usize::from(index) % SERVERS;
            (server_address(index), i32::try_from(index).unwrap_or(0))
        }
        Peer::Client(own, _) => (client_address(own), (1 << 20) + i32::from(own % 8)),
    }
}

fn command(order: &ScriptedCommand) -> Command {
    let name = |number: u8| NAMES[usize::from(number) % NAMES.len()].into();
    match order {
        ScriptedCommand::Request {
            name: number,
            shared,
            fence,
        } => Command::Request {
            name: name(*number),
            access: if *shared {
                Access::Shared
            } else {
                Access::Exclusive
            },
            fence: *fence,
        },
        ScriptedCommand::Update { name: number, data } => Command::Update {
            name: name(*number),
            data: data[..].into(),
        },
        ScriptedCommand::Release(number) => Command::Release {
            name: name(*number),
        },
        ScriptedCommand::UpdateAndRelease { name: number, data } => Command::UpdateAndRelease {
            name: name(*number),
            data: data[..].into(),
        },
        ScriptedCommand::Cancel(number) => Command::Cancel {
            name: name(*number),
        },
        ScriptedCommand::List { server, after } => Command::List {
            server: usize::from(*server),
            after: name(*after),
        },
        ScriptedCommand::Logout => Command::Logout,
        ScriptedCommand::Illegal { name: true } => Command::Request {
            name: [].into(),
            access: Access::Shared,
            fence: false,
        },
        ScriptedCommand::Illegal { name: false } => Command::Update {
            name: name(0),
            data: vec![0; ring_proto::ftn::DATA_BYTES_MAX + 1].into(),
        },
    }
}
