//! One process: a server or a client, and what surrounds it.

use std::hash::Hash;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ring_codec::ftn::Access;
use ring_proto::ftn::client::{self, Client, Standing};
use ring_proto::ftn::server::{self, Durable, Server};
use ring_proto::ftn::station::{Command, Event, Net, Station};
use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, Sent, Stored};

use super::setup::Setup;
use crate::digest::{Digest, Key};

/// What every node's wall clock shows for ever: 2026, for the numbers of cold leaders.
const WALL: u64 = 1_780_000_000_000_000_000;
/// No datagram of so small a group is longer.
const ROOM: usize = 1 << 11;

/// A process, alive or dead, and what outlives it.
#[derive(Clone)]
pub struct Node {
    /// The machine; `None`: the process is dead.
    pub station: Option<Station>,
    /// What was stored last.
    pub durable: Durable,
    /// How often it, or its socket, was new: a client's port follows from it.
    pub life: u16,
    /// It stands still until then, by the group's time.
    pub stopped: Option<Instant>,
    /// What the program above a client does.
    pub program: Program,
    digest: Digest,
}

/// What the program above a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Program {
    /// It has asked for the token, or holds it, or gives it back.
    pub is_busy: bool,
    /// The update that is not confirmed yet.
    pub writing: Option<u8>,
    /// It has asked for the other access.
    pub changing: bool,
    /// It gives the token back.
    pub leaving: bool,
}

/// What a program asks its client for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wish {
    /// The token.
    Ask(Access),
    /// The token with the other access.
    Change(Access),
    /// New data.
    Write(u8),
    /// To give it back, perhaps with new data.
    Give(Option<u8>),
}

/// What a process is told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// It has just been started.
    Begin,
    /// A datagram from there, which has waited for so long.
    Datagram(SocketAddr, Arc<[u8]>, Duration),
    /// Its time has come.
    TimeOut,
    /// What its program wants.
    Wish(Wish),
    /// It is to leave.
    Leave,
}

/// What a client has told of the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It is granted.
    Granted {
        /// How.
        access: Access,
        /// The fencing number.
        fence: u128,
        /// The data.
        data: Box<[u8]>,
    },
    /// An update was confirmed.
    Updated(u8),
}

/// A datagram that has left a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The sender's address.
    pub from: SocketAddr,
    /// The receiver's address.
    pub to: SocketAddr,
    /// The datagram.
    pub bytes: Arc<[u8]>,
}

/// A process after an input, and what came of it.
pub struct Turn {
    /// The process.
    pub node: Node,
    /// What has left, in order.
    pub said: Vec<Said>,
    /// What a client has told.
    pub told: Vec<Told>,
}

impl Node {
    /// A process that was never started.
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

    /// The server that runs here.
    pub fn server(&self) -> Option<&Server> {
        self.station.as_ref()?.server()
    }

    /// The client that runs here.
    pub fn client(&self) -> Option<&Client> {
        self.station.as_ref()?.client()
    }

    /// Whether it reads what arrives.
    pub const fn hears(&self) -> bool {
        self.station.is_some() && self.stopped.is_none()
    }

    /// When something happens here of its own, by the group's time.
    pub fn due(&self, setup: &Setup, at: usize) -> Option<Instant> {
        let deadline = self.station.as_ref()?.poll_timeout();
        let deadline = deadline.map(|local| setup.scenario.time(at, local));
        self.stopped.or(deadline)
    }

    /// How a client holds a token that it may use at a time of the group's.
    pub fn holding(&self, setup: &Setup, at: usize, time: Instant) -> Option<Access> {
        let client = self.client()?;
        client
            .lease()
            .filter(|end| setup.scenario.local(at, time) < *end)?;
        Some(client.holding(&setup.token)?.access)
    }

    /// Whether a client is live.
    pub fn is_live(&self) -> bool {
        let standing = self.client().map(Client::standing);
        matches!(standing, Some(Standing::Live { .. }))
    }

    /// The process after it has died.
    pub fn dead(&self) -> Self {
        Self {
            station: None,
            stopped: None,
            program: Program::default(),
            ..self.clone()
        }
    }

    /// The process as it stands still.
    pub fn stopped(&self, until: Instant) -> Self {
        Self {
            stopped: Some(until),
            ..self.clone()
        }
    }

    /// The process as it goes on.
    pub fn resumed(&self) -> Self {
        Self {
            stopped: None,
            ..self.clone()
        }
    }

    /// The process at place `at` gets an input at a time of the group's.
    pub fn turn(&self, setup: &Setup, at: usize, input: &Input, time: Instant) -> Turn {
        let mut turn = Turn {
            node: self.clone(),
            said: Vec::new(),
            told: Vec::new(),
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
            Input::Wish(wish) => {
                let command = node.program.wants(*wish, name);
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
        if turn.node.server().is_some_and(Server::is_finished) {
            turn.node = turn.node.dead();
        }
        turn
    }

    /// The key, in short.
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
    /// Does what the machine wants done, in the order that its contract asks for. Whether it wants another socket.
    fn drain(&mut self, setup: &Setup, at: usize, now: Now) -> bool {
        let from = setup.address(at, self.node.life);
        let Some(station) = &mut self.node.station else {
            return false;
        };
        while let Some(durable) = station.poll_durable() {
            self.node.durable = durable;
            station.handle_stored(now, Stored::Done);
        }
        let mut buffer = [0; ROOM];
        while let Some(transmit) = station.poll_transmit(&mut buffer) {
            self.said.push(Said {
                from,
                to: transmit.to,
                bytes: buffer[..transmit.len].into(),
            });
            station.handle_sent(now, transmit.ticket, Sent::Accepted);
        }
        let mut wants_socket = false;
        while let Some(event) = station.poll_event() {
            if let Event::Client(event) = event {
                wants_socket |= event == client::Event::NewSocket;
                self.told.extend(self.node.program.heard(event));
            }
        }
        wants_socket
    }
}

impl Program {
    /// The command for a wish.
    fn wants(&mut self, wish: Wish, name: Box<[u8]>) -> client::Command {
        use client::Command as C;
        let fence = true;
        let written = |update: u8| -> Box<[u8]> { [update].into() };
        match wish {
            Wish::Ask(access) | Wish::Change(access) => {
                self.changing = self.is_busy;
                self.is_busy = true;
                C::Request {
                    name,
                    access,
                    fence,
                }
            }
            Wish::Write(update) => {
                self.writing = Some(update);
                let data = written(update);
                C::Update { name, data }
            }
            Wish::Give(update) => {
                self.leaving = true;
                self.writing = update;
                match update.map(written) {
                    Some(data) => C::UpdateAndRelease { name, data },
                    None => C::Release { name },
                }
            }
        }
    }

    /// What the client has told, and what of it is of interest.
    fn heard(&mut self, event: client::Event) -> Option<Told> {
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
                return Some(Told::Granted {
                    access,
                    fence,
                    data,
                });
            }
            E::Updated { .. } => return self.writing.take().map(Told::Updated),
            // Where it waits for an upgrade it is still asked for.
            E::Returned { .. } if !self.leaving => {}
            E::Returned { .. } | E::Cancelled { .. } | E::Lost { .. } => *self = Self::default(),
            _ => {}
        }
        None
    }
}

/// What a process is told of its network.
fn net(setup: &Setup, at: usize, life: u16) -> Net {
    if setup.scenario.is_server(at) {
        Net::Server(server::Net::Up)
    } else {
        let port = setup.address(at, life).port();
        Net::Client(client::Net::Up { port })
    }
}
