//! Messages that are too long for a datagram (`docs/token-service/protocol/messages-in-parts.md`).

use std::net::SocketAddr;

use ring_codec::ftn::{Datagram, Kind, Message};

use super::outbox::{Content, OutgoingDatagram};
use super::phase::Phase;
use super::{Client, DropReason};
use crate::ftn::carrier::{MESSAGE_MAX, Part, PartOutcome, ReceivedPart};

impl Client {
    /// Queues the parts of a message before all other datagrams.
    pub(super) fn send_long(&mut self, server: usize, at: SocketAddr, kind: Kind, bytes: &[u8]) {
        let parts = self.carrier.outgoing.send(self.now, at, kind, bytes);
        // The message was the first in the queue, and its parts take its place. The last part is pushed first.
        for part in parts.into_iter().rev() {
            self.out.outbox.push_front(part_datagram(server, part));
        }
    }

    /// Drops the parts of all messages that are on their way to servers. The code that sent a message repeats it.
    pub(super) fn drop_outgoing_parts(&mut self) {
        let servers = &self.options.servers;
        for server in (0..servers.len()).filter_map(|server| servers.address(server)) {
            self.carrier.outgoing.forget(server);
        }
    }

    /// Handles PARTED: sends the parts that follow.
    pub(super) fn on_parted(&mut self, server: usize, from: SocketAddr, content: i64, came: &[u8]) {
        let outgoing = &mut self.carrier.outgoing;
        let parts = outgoing.on_parted(self.now, from, content, came);
        let parts = parts.into_iter().map(|part| part_datagram(server, part));
        self.out.outbox.extend(parts);
    }

    pub(super) fn on_part(
        &mut self,
        server: usize,
        from: SocketAddr,
        to: i32,
        piece: ReceivedPart<'_>,
    ) -> Result<(), DropReason> {
        let Phase::Session(session) = &self.phase else {
            return Err(DropReason::NoSession);
        };
        if to != session.id {
            return Err(DropReason::NotForMe);
        }
        let (now, incoming) = (self.now, &mut self.carrier.incoming);
        let took = incoming.take(now, now, from, piece, MESSAGE_MAX);
        if took == PartOutcome::Refused {
            return Err(DropReason::Malformed);
        }
        // A part that came before is acknowledged too, because the last PARTED may be lost.
        let content = Content::Parted(piece.content);
        let to = server;
        self.out.outbox.push_back(OutgoingDatagram { to, content });
        let PartOutcome::Complete { bytes, .. } = took else {
            return Ok(());
        };
        let whole = Datagram::decode(&bytes).map_err(|_| DropReason::Malformed)?;
        // If a PART itself could arrive in parts, its length would have no limit.
        if matches!(whole.message(), Message::Part { .. }) {
            return Err(DropReason::Malformed);
        }
        self.accept(from, &whole)
    }
}

const fn part_datagram(to: usize, part: Part) -> OutgoingDatagram {
    let content = Content::Part(part);
    OutgoingDatagram { to, content }
}
