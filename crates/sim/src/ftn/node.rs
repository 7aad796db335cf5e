//! The part of each node's data that only FTN has.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ring_codec::ftn::{Access, ServerState};
use ring_proto::ftn::server::Durable;

use super::client_keys::KeyRole;

/// A server or a client, alive or dead.
#[derive(Debug)]
pub(super) struct NodeData {
    pub(super) address: SocketAddr,
    pub(super) crash_after_send: CrashAfterSend,
    pub(super) keys: KeyRole,
    pub(super) kind: Kind,
}

/// A planned death of a process after it sends a certain message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum CrashAfterSend {
    #[default]
    None,
    /// The process will die after it sends a message of this type, and start again after this number of nanoseconds.
    Armed(usize, u64),
    /// The process died while it handled the current input. The run notices the death at the end of the input.
    Dead(u64),
}

#[derive(Debug)]
pub(super) enum Kind {
    Server(ServerData),
    Client(ClientData),
}

#[derive(Debug, Default)]
pub(super) struct ServerData {
    pub(super) durable: Durable,
    /// The last state that the server reported.
    pub(super) state: Option<ServerState>,
    /// A grant that the server made during the current input although it was not READY.
    pub(super) granted_early: Option<String>,
    /// Whether the server got the command to leave.
    pub(super) leaves: bool,
    pub(super) left: bool,
}

#[derive(Debug, Default)]
pub(super) struct ClientData {
    /// The program's use of each token.
    pub(super) jobs: BTreeMap<usize, Job>,
    /// The program's next actions after this input.
    pub(super) todo: Vec<ProgramAct>,
    pub(super) numbered: u32,
    /// The configuration of the session; `None` without a session.
    pub(super) configuration: Option<u64>,
}

/// A program's use of a token.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The number of this job within the process.
    pub(super) number: u32,
    /// The simulated time of the client's request for the token.
    pub(super) requested: u64,
    /// The time of the grant; `None` if the token is not held.
    pub(super) granted: Option<u64>,
    pub(super) access: Access,
    /// The duration of a command, in nanoseconds. If the duration is `None`, the command lasts until another client
    /// requests the token.
    pub(super) lasts: Option<u64>,
    /// Whether the client returns the token in order to request it with the other kind of access: exclusive or shared.
    pub(super) anew: bool,
    /// The update that is not confirmed yet.
    pub(super) pending: Option<u64>,
}

/// An action of the program that uses a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramAct {
    NewSocket,
    /// Run the command under the token.
    Begin(usize, u32),
    /// Return the token, because another client waits.
    Yield(usize, u32),
    End,
}

impl NodeData {
    pub(super) const fn leaves(&self) -> bool {
        matches!(&self.kind, Kind::Server(server) if server.leaves)
    }

    pub(super) fn server_mut(&mut self) -> Option<&mut ServerData> {
        match &mut self.kind {
            Kind::Server(server) => Some(server),
            Kind::Client(_) => None,
        }
    }

    pub(super) const fn client(&self) -> Option<&ClientData> {
        match &self.kind {
            Kind::Client(client) => Some(client),
            Kind::Server(_) => None,
        }
    }

    pub(super) fn client_mut(&mut self) -> Option<&mut ClientData> {
        match &mut self.kind {
            Kind::Client(client) => Some(client),
            Kind::Server(_) => None,
        }
    }
}
