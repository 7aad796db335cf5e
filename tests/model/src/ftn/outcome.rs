//! The outcome of an input, and the check of the outcome.

use std::sync::Arc;

use ring_codec::ftn::{Datagram, Message, ServerState};
use ring_proto::ftn::server::Server;
use ring_proto::time::Instant;

use super::breach::Breach;
use super::node::{ClientReport, Input, Node, SentDatagram, Turn};
use super::setup::Setup;

/// The maximum number of datagrams with which a process answers one input, in such a small group.
const ANSWERS_MAX: usize = 16;

/// The outcome of one input of a process. The other processes have no influence on this outcome.
pub struct Outcome {
    pub node: Arc<Node>,
    /// The sent datagrams, in order.
    pub sent: Vec<SentDatagram>,
    /// The reports of a client.
    pub reports: Vec<ClientReport>,
    /// The promise that the process broke.
    pub breach: Option<Breach>,
}

impl Outcome {
    /// Runs the state machine and checks its outputs.
    pub fn of(setup: &Setup, at: usize, before: &Node, input: &Input, time: Instant) -> Self {
        let Turn {
            node,
            sent,
            reports,
        } = before.turn(setup, at, input, time);
        let was_ready = before.server().is_some_and(is_ready);
        let is_ready = node.server().is_some_and(is_ready);
        let early = sent.iter().any(is_grant) && !was_ready && !is_ready;
        let breach = if early {
            Some(Breach::GrantedEarly { node: at })
        } else if sent.len() > ANSWERS_MAX {
            let datagrams = sent.len();
            Some(Breach::TooMuch {
                node: at,
                datagrams,
            })
        } else {
            let local = setup.scenario.local(at, time);
            let server = node.server();
            let session = server.and_then(|server| holder_without_session(server, local));
            session.map(|session| Breach::Sessions { node: at, session })
        };
        Self {
            node: Arc::new(node),
            sent,
            reports,
            breach,
        }
    }
}

fn is_ready(server: &Server) -> bool {
    server.summary().state == ServerState::Ready
}

/// Whether a datagram grants a token.
fn is_grant(sent: &SentDatagram) -> bool {
    let datagram = Datagram::decode(&sent.bytes);
    datagram.is_ok_and(|datagram| {
        matches!(datagram.message(), Message::Grant { token, .. } if !token.name.is_empty())
    })
}

/// Returns the id of a client that holds a token although it has no session at the server.
fn holder_without_session(server: &Server, now: Instant) -> Option<i32> {
    let mut holders = server
        .tokens()
        .flat_map(|token| token.holders().collect::<Vec<_>>())
        .peekable();
    holders.peek()?;
    let sessions = server.snapshot(now).sessions;
    let is_listed = |id: i32| sessions.iter().any(|(session, _)| *session == id);
    holders.find(|&id| !is_listed(id))
}
