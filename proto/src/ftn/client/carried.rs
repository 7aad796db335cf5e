//! Messages that are too long for a datagram (`docs/ftn.md`, "Messages in parts").

use std::net::SocketAddr;

use ring_codec::ftn::{Datagram, Kind, Message};

use super::outbox::{Content, Outgoing};
use super::phase::Phase;
use super::{Client, Reason};
use crate::ftn::carrier::{MESSAGE_MAX, Part, Piece, Took};

impl Client {
    /// Queues the parts of a message before all that waits.
    pub(super) fn send_long(&mut self, server: usize, at: SocketAddr, kind: Kind, bytes: &[u8]) {
        let parts = self.carried.outgoing.send(self.now, at, kind, bytes);
        for part in parts.into_iter().rev() {
            self.out.outbox.push_front(part_of(server, part));
        }
    }

    /// Forgets what is under way to servers: what still has to go is repeated.
    pub(super) fn forget_parts_that_leave(&mut self) {
        let servers = &self.options.servers;
        for server in (0..servers.len()).filter_map(|server| servers.address(server)) {
            self.carried.outgoing.forget(server);
        }
    }

    /// PARTED: sends what may follow.
    pub(super) fn on_parted(&mut self, server: usize, from: SocketAddr, content: i64, came: &[u8]) {
        let outgoing = &mut self.carried.outgoing;
        let parts = outgoing.on_parted(self.now, from, content, came);
        let parts = parts.into_iter().map(|part| part_of(server, part));
        self.out.outbox.extend(parts);
    }

    /// A part of a message to this client.
    pub(super) fn on_part(
        &mut self,
        server: usize,
        from: SocketAddr,
        to: i32,
        piece: Piece<'_>,
    ) -> Result<(), Reason> {
        let Phase::Session(session) = &self.phase else {
            return Err(Reason::NoSession);
        };
        if to != session.id {
            return Err(Reason::NotForMe);
        }
        let (now, incoming) = (self.now, &mut self.carried.incoming);
        let took = incoming.take(now, now, from, piece, MESSAGE_MAX);
        if took == Took::Refused {
            return Err(Reason::Malformed);
        }
        let content = Content::Parted(piece.content);
        let to = server;
        self.out.outbox.push_back(Outgoing { to, content });
        let Took::Whole { bytes, .. } = took else {
            return Ok(());
        };
        let whole = Datagram::decode(&bytes).map_err(|_| Reason::Malformed)?;
        if matches!(whole.message(), Message::Part { .. }) {
            return Err(Reason::Malformed);
        }
        self.accept(from, &whole)
    }
}

const fn part_of(to: usize, part: Part) -> Outgoing {
    let content = Content::Part(part);
    Outgoing { to, content }
}
