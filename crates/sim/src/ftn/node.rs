//! What is kept of one node.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ring_codec::ftn::{Access, ServerState};
use ring_proto::ftn::server::Durable;

/// A node, whether its process is alive or dead.
#[derive(Debug)]
pub struct Own {
    /// Its address of now.
    pub address: SocketAddr,
    /// What it dies of.
    pub doom: Doom,
    /// What it is.
    pub kind: Kind,
}

/// Whether a process dies of what it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Doom {
    /// It does not.
    #[default]
    None,
    /// It does, once it has sent a message of this type, and starts again so many nanoseconds later.
    Waits(usize, u64),
    /// It is dead, as everybody will know when this input is over.
    Dead(u64),
}

/// What is kept of a server, or of a client.
#[derive(Debug)]
pub enum Kind {
    /// Of a server.
    Server(ServerOwn),
    /// Of a client.
    Client(ClientOwn),
}

/// A server.
#[derive(Debug, Default)]
pub struct ServerOwn {
    /// Its state file.
    pub durable: Durable,
    /// What it has last said to be.
    pub state: Option<ServerState>,
    /// What it has granted in this input while it was not READY.
    pub granted_early: Option<String>,
    /// It was told to leave.
    pub leaves: bool,
    /// It has left.
    pub left: bool,
}

/// A client and the program above it.
#[derive(Debug, Default)]
pub struct ClientOwn {
    /// What the program does with each token.
    pub jobs: BTreeMap<usize, Job>,
    /// What the machine has told that is to be acted on once all is drained.
    pub todo: Vec<Todo>,
    /// Jobs so far.
    pub numbered: u32,
    /// The configuration that the session has gone by so far; `None`: there is no session.
    pub configuration: Option<u64>,
}

/// What a program does with a token.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its number in this life.
    pub number: u32,
    /// When the token was asked for, by the world's time.
    pub requested: u64,
    /// When it was granted; `None`: it was not yet, or is no longer held.
    pub granted: Option<u64>,
    /// How it is wanted.
    pub access: Access,
    /// For how long a command runs, in nanoseconds; `None`: until somebody else wants the token.
    pub lasts: Option<u64>,
    /// It is given back to be asked for anew, for an upgrade.
    pub anew: bool,
    /// The update that is not confirmed yet.
    pub pending: Option<u64>,
}

/// What the program above a client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Todo {
    /// It opens another socket.
    NewSocket,
    /// It runs its command under the token.
    Begin(usize, u32),
    /// It gives the token back, since somebody else waits.
    Yield(usize, u32),
    /// It ends.
    End,
}

impl Own {
    /// Whether it is a server that was told to leave.
    pub const fn leaves(&self) -> bool {
        matches!(&self.kind, Kind::Server(server) if server.leaves)
    }

    /// A server.
    pub fn server_mut(&mut self) -> Option<&mut ServerOwn> {
        match &mut self.kind {
            Kind::Server(server) => Some(server),
            Kind::Client(_) => None,
        }
    }

    /// A client.
    pub const fn client(&self) -> Option<&ClientOwn> {
        match &self.kind {
            Kind::Client(client) => Some(client),
            Kind::Server(_) => None,
        }
    }

    /// A client, to change it.
    pub fn client_mut(&mut self) -> Option<&mut ClientOwn> {
        match &mut self.kind {
            Kind::Client(client) => Some(client),
            Kind::Server(_) => None,
        }
    }
}
