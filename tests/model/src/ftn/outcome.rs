//! What follows when a process is told something, and what of it is wrong by itself.

use std::sync::Arc;

use ring_codec::ftn::{Datagram, Message, ServerState};
use ring_proto::ftn::server::Server;
use ring_proto::time::Instant;

use super::breach::Breach;
use super::node::{Input, Node, Said, Told, Turn};
use super::setup::Setup;

/// More datagrams than any rule answers one input with in so small a group.
const MAX_SAID: usize = 16;

/// What follows when a process is told something, whatever the rest of the group is like.
pub struct Outcome {
    /// The process.
    pub node: Arc<Node>,
    /// What has left, in order.
    pub said: Vec<Said>,
    /// What a client has told.
    pub told: Vec<Told>,
    /// The promise that the process has broken by itself.
    pub breach: Option<Breach>,
}

impl Outcome {
    /// Runs the machine and judges what it does.
    pub fn of(setup: &Setup, at: usize, before: &Node, input: &Input, time: Instant) -> Self {
        let Turn { node, said, told } = before.turn(setup, at, input, time);
        let was_ready = before.server().is_some_and(is_ready);
        let is_ready = node.server().is_some_and(is_ready);
        let early = said.iter().any(grants) && !was_ready && !is_ready;
        let breach = if early {
            Some(Breach::GrantedEarly { node: at })
        } else if said.len() > MAX_SAID {
            let datagrams = said.len();
            Some(Breach::TooMuch {
                node: at,
                datagrams,
            })
        } else {
            let local = setup.scenario.local(at, time);
            let server = node.server();
            let session = server.and_then(|server| ended_holder(server, local));
            session.map(|session| Breach::Sessions { node: at, session })
        };
        Self {
            node: Arc::new(node),
            said,
            told,
            breach,
        }
    }
}

fn is_ready(server: &Server) -> bool {
    server.standing().state == ServerState::Ready
}

/// Whether a datagram is a grant of a token.
fn grants(said: &Said) -> bool {
    let datagram = Datagram::decode(&said.bytes);
    datagram.is_ok_and(|datagram| {
        matches!(datagram.message(), Message::Grant { token, .. } if !token.name.is_empty())
    })
}

/// Who holds a token at a server that lists no such session.
fn ended_holder(server: &Server, now: Instant) -> Option<i32> {
    let mut holders = server
        .tokens()
        .flat_map(|token| token.holders().collect::<Vec<_>>())
        .peekable();
    holders.peek()?;
    let sessions = server.snapshot(now).sessions;
    let is_listed = |id: i32| sessions.iter().any(|(session, _)| *session == id);
    holders.find(|&id| !is_listed(id))
}
