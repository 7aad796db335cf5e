//! One process: a server or a client, with its stored state, its network and its program.

use std::hash::Hash;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ring_codec::ftn::Access;
use ring_proto::ftn::client::{self, Client, ClientState};
use ring_proto::ftn::endpoint::{Command, Endpoint, Event, Net};
use ring_proto::ftn::server::{self, Durable, Server};
use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, SendOutcome, StoreOutcome};

use super::setup::Setup;
use crate::digest::{Digest, Key};

/// The time of every wall clock. It never changes. The time lies in 2026. Leaders without a stored configuration number
/// derive this number from the time since the start of 2026.
const WALL: u64 = 1_780_000_000_000_000_000;
/// The length of the buffer. In such a small group, every datagram fits.
const DATAGRAM_BUFFER_LEN: usize = 1 << 11;

/// A process, alive or dead, and the state that survives it.
#[derive(Clone)]
pub struct Node {
    /// The state machine, or `None` if the process is dead.
    pub station: Option<Endpoint>,
    /// The stored state.
    pub durable: Durable,
    /// The number of starts of the process and of its new sockets. The port of a client follows from this number.
    pub life: u16,
    /// The end of a stall, in the group's time.
    pub stopped: Option<Instant>,
    /// The program above a client.
    pub program: Program,
    digest: Digest,
}

/// The program above a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Program {
    /// Whether the program has requested the token, holds it or returns it.
    pub is_busy: bool,
    /// The update that is not confirmed yet.
    pub writing: Option<u8>,
    /// Whether the program has requested the other kind of access: exclusive or shared.
    pub changing: bool,
    /// Whether the program is returning the token.
    pub leaving: bool,
}

/// An action of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProgramAction {
    /// Requests the token.
    Ask(Access),
    /// Requests the other kind of access.
    Change(Access),
    /// Sets new data.
    Write(u8),
    /// Returns the token, with or without new data.
    Give(Option<u8>),
}

/// An input of a process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// The process has just been started.
    Begin,
    /// The sender of a datagram, the datagram, and its waiting time.
    Datagram(SocketAddr, Arc<[u8]>, Duration),
    /// The deadline of the state machine has passed.
    TimeOut,
    /// An action of the client's program.
    ProgramAction(ProgramAction),
    /// A command to shut down.
    Leave,
}

/// A report of a client about the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientReport {
    /// The token is granted.
    Granted {
        access: Access,
        fence: u128,
        data: Box<[u8]>,
    },
    /// An update was confirmed.
    Updated(u8),
}

/// A datagram that has left a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentDatagram {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Arc<[u8]>,
}

/// A process after an input, and its outputs.
pub struct Turn {
    pub node: Node,
    /// The sent datagrams, in order.
    pub sent: Vec<SentDatagram>,
    /// The reports of a client.
    pub reports: Vec<ClientReport>,
}

impl Node {
    /// Returns a process that never ran.
    pub fn never_started() -> Self {
        Self {
            station: None,
            durable: Durable::default(),
            life: 0,
            stopped: None,
            program: Program::default(),
            digest: Digest::default(),
        }
    }

    pub fn server(&self) -> Option<&Server> {
        self.station.as_ref()?.server()
    }

    pub fn client(&self) -> Option<&Client> {
        self.station.as_ref()?.client()
    }

    /// Whether the process can read datagrams.
    pub const fn can_receive(&self) -> bool {
        self.station.is_some() && self.stopped.is_none()
    }

    /// Returns the time of the next event of the process, in the group's time.
    pub fn deadline(&self, setup: &Setup, at: usize) -> Option<Instant> {
        let deadline = self.station.as_ref()?.poll_timeout();
        let deadline = deadline.map(|local| setup.scenario.time(at, local));
        self.stopped.or(deadline)
    }

    /// Returns a client's access to the token at a time of the group, if the client's lease lasts.
    pub fn holding(&self, setup: &Setup, at: usize, time: Instant) -> Option<Access> {
        let client = self.client()?;
        client
            .lease()
            .filter(|end| setup.scenario.local(at, time) < *end)?;
        Some(client.held_token(&setup.token)?.access)
    }

    pub fn is_live(&self) -> bool {
        let standing = self.client().map(Client::state);
        matches!(standing, Some(ClientState::Live { .. }))
    }

    /// Returns the process after its death.
    pub fn after_death(&self) -> Self {
        Self {
            station: None,
            stopped: None,
            program: Program::default(),
            ..self.clone()
        }
    }

    /// Returns the process with a stall that lasts until the given time.
    pub fn with_stall(&self, until: Instant) -> Self {
        Self {
            stopped: Some(until),
            ..self.clone()
        }
    }

    /// Returns the process after its stall.
    pub fn after_stall(&self) -> Self {
        Self {
            stopped: None,
            ..self.clone()
        }
    }

    /// Gives an input to the process with index `at`, at a time of the group.
    pub fn turn(&self, setup: &Setup, at: usize, input: &Input, time: Instant) -> Turn {
        let mut turn = Turn {
            node: self.clone(),
            sent: Vec::new(),
            reports: Vec::new(),
        };
        let now = Now {
            monotonic: setup.scenario.local(at, time),
            wall: WALL,
        };
        let node = &mut turn.node;
        if *input == Input::Begin {
            node.life += 1;
            node.station = Some(setup.start(at, node.life, node.durable));
        }
        let (life, name) = (node.life, setup.token.clone());
        let Some(station) = &mut node.station else {
            return turn;
        };
        match input {
            Input::Begin => station.handle_link(now, net(setup, at, life)),
            Input::Datagram(from, bytes, age) => station.handle_message(now, *from, bytes, *age),
            Input::TimeOut => station.handle_timeout(now),
            Input::ProgramAction(wish) => {
                let command = node.program.command(*wish, name);
                station.handle_command(now, Command::Client(command));
            }
            Input::Leave => {
                station.handle_command(now, Command::Server(server::Command::ShutDown));
            }
        }
        while turn.drain(setup, at, now) {
            turn.node.life += 1;
            let socket = net(setup, at, turn.node.life);
            if let Some(station) = &mut turn.node.station {
                station.handle_link(now, socket);
            }
        }
        if turn.node.server().is_some_and(Server::has_left) {
            turn.node = turn.node.after_death();
        }
        turn
    }

    pub fn digest(&self) -> u128 {
        self.digest.of(|| {
            let mut key = Key::default();
            let Self {
                station,
                durable,
                life,
                stopped,
                program,
                digest: _,
            } = self;
            (station, durable, life, stopped, program).hash(&mut key);
            key.0
        })
    }
}

impl Turn {
    /// Carries out the outputs of the state machine, in the order of its contract. Returns whether the state machine
    /// requests a new socket.
    fn drain(&mut self, setup: &Setup, at: usize, now: Now) -> bool {
        let from = setup.address(at, self.node.life);
        let Some(station) = &mut self.node.station else {
            return false;
        };
        while let Some(durable) = station.poll_durable() {
            self.node.durable = durable;
            station.handle_stored(now, StoreOutcome::Done);
        }
        let mut buffer = [0; DATAGRAM_BUFFER_LEN];
        while let Some(transmit) = station.poll_transmit(&mut buffer) {
            self.sent.push(SentDatagram {
                from,
                to: transmit.to,
                bytes: buffer[..transmit.len].into(),
            });
            station.handle_sent(now, transmit.ticket, SendOutcome::Accepted);
        }
        let mut wants_socket = false;
        while let Some(event) = station.poll_event() {
            if let Event::Client(event) = event {
                wants_socket |= event == client::Event::NewSocket;
                self.reports.extend(self.node.program.on_event(event));
            }
        }
        wants_socket
    }
}

impl Program {
    fn command(&mut self, wish: ProgramAction, name: Box<[u8]>) -> client::Command {
        use client::Command as C;
        let fence = true;
        let written = |update: u8| -> Box<[u8]> { [update].into() };
        match wish {
            ProgramAction::Ask(access) | ProgramAction::Change(access) => {
                self.changing = self.is_busy;
                self.is_busy = true;
                C::Request {
                    name,
                    access,
                    fence,
                }
            }
            ProgramAction::Write(update) => {
                self.writing = Some(update);
                let data = written(update);
                C::Update { name, data }
            }
            ProgramAction::Give(update) => {
                self.leaving = true;
                self.writing = update;
                match update.map(written) {
                    Some(data) => C::UpdateAndRelease { name, data },
                    None => C::Release { name },
                }
            }
        }
    }

    /// Records an event of the client, and returns its report about the token.
    fn on_event(&mut self, event: client::Event) -> Option<ClientReport> {
        use client::Event as E;
        match event {
            E::Granted {
                access,
                fence,
                data,
                ..
            } => {
                self.changing = false;
                let fence = fence.unwrap_or_default();
                return Some(ClientReport::Granted {
                    access,
                    fence,
                    data,
                });
            }
            E::Updated { .. } => return self.writing.take().map(ClientReport::Updated),
            // If the token still waits for an upgrade, the program's request continues.
            E::Returned { .. } if !self.leaving => {}
            E::Returned { .. } | E::Cancelled { .. } | E::Lost { .. } => *self = Self::default(),
            _ => {}
        }
        None
    }
}

/// The state of a process's network.
fn net(setup: &Setup, at: usize, life: u16) -> Net {
    if setup.scenario.is_server(at) {
        Net::Server(server::NetworkState::Up)
    } else {
        let port = setup.address(at, life).port();
        Net::Client(client::SocketState::Up { port })
    }
}
