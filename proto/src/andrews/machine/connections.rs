//! Opening, using and closing connections (`docs/board/protocol/members.md`, rules C; `failures.md`, rules F).

use std::net::SocketAddr;

use super::Andrews;
use crate::andrews::message::OwnedMessage;
use crate::andrews::ring::{Membership, Peer};
use crate::andrews::{Event, Reason, SuccessorLoss};
use crate::time::Instant;
use crate::{StreamId, StreamOp};

/// The neighbor in the ring at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Predecessor,
    Successor,
}

impl Andrews {
    /// Notes a proof that the network works. A message of another node arrived, or another node accepted or refused a
    /// connection from this node.
    pub(super) fn note_contact(&mut self) {
        self.proof.note_contact(self.now);
        if let Some(request) = self.role.repeated_request_mut() {
            request.on_proof(self.now);
        }
    }

    pub(super) fn note_contact_with(&mut self, id: u32) {
        // A ring of one hears itself, which proves nothing about the network.
        if id != self.options.id {
            self.note_contact();
        }
    }

    /// Opens the next connection. The node opens the connection to the successor before it opens connections that look
    /// for proof.
    pub(super) fn open(&mut self, vacant: Option<StreamId>) -> Option<StreamOp<SocketAddr>> {
        let vacant = vacant?;
        let member = self.role.member_mut();
        if let Some(to) = member.and_then(|member| member.open(vacant)) {
            return self.list.address(to).map(StreamOp::Open);
        }
        let to = self.list.address(self.proof.take_next_target()?)?;
        let until = self.now + self.options.connect_timeout;
        self.proof.on_opened(vacant, until);
        Some(StreamOp::Open(to))
    }

    /// Returns the neighbor at the other end of this connection, if the connection is up.
    pub(super) fn peer_mut(&mut self, id: StreamId) -> Option<(Side, &mut Peer)> {
        let predecessor = self.inbound.predecessor_mut();
        let predecessor = predecessor.map(|peer| (Side::Predecessor, peer));
        let successor = self.role.successor_mut();
        let successor = successor.map(|peer| (Side::Successor, peer));
        let mut both = predecessor.into_iter().chain(successor);
        both.find(|(_, peer)| peer.stream() == id)
    }

    /// Sends a frame to the successor. Returns whether there is a successor and its connection accepts the frame.
    pub(super) fn send_to_successor(&mut self, message: &OwnedMessage) -> bool {
        let Some(successor) = self.role.successor_mut() else {
            return false;
        };
        let stream = successor.stream();
        if !successor.push(&message.encode(self.options.id)) {
            // A successor that leaves more bytes unread than this buffer holds has stopped reading. Such a successor
            // would not take the token either.
            self.lose_successor(SuccessorLoss::Ended);
            return false;
        }
        self.out.on_frame_queued(stream, message);
        true
    }

    pub(super) fn send_to_predecessor(&mut self, message: &OwnedMessage) {
        let Some(predecessor) = self.inbound.predecessor_mut() else {
            return;
        };
        let (stream, from) = (predecessor.stream(), predecessor.from());
        if !predecessor.push(&message.encode(self.options.id)) {
            self.out.report_drop(from, Reason::Unread);
            return self.close_predecessor();
        }
        self.out.on_frame_queued(stream, message);
    }

    pub(super) fn close_predecessor(&mut self) {
        if let Some(predecessor) = self.inbound.predecessor() {
            self.out
                .push_operation(StreamOp::Close(predecessor.stream()));
        }
        self.forget_predecessor();
    }

    /// Forgets the predecessor. The loss of a predecessor is not treated as a failure here, because the predecessor of
    /// a failed node removes the failed node.
    pub(super) fn forget_predecessor(&mut self) {
        if let Some(predecessor) = self.inbound.take_predecessor() {
            let id = predecessor.id();
            self.out.push_event(Event::PredecessorLost { id });
            // The acknowledgement of a parked token can leave only on the connection that brought the token.
            if self.token.parked_stream() == Some(predecessor.stream()) {
                self.token.unpark();
            }
        }
    }

    /// Closes the connection to the successor. The successor does not count as lost.
    pub(super) fn close_successor(&mut self) {
        let member = self.role.member_mut();
        if let Some(stream) = member.and_then(Membership::close) {
            self.out.push_operation(StreamOp::Close(stream));
        }
    }

    /// Closes connections that did not send a frame in time.
    pub(super) fn on_connections_due(&mut self) {
        let (now, options) = (self.now, self.options);
        for id in self
            .inbound
            .overdue_connections(now, options.connect_timeout)
        {
            if let Some(from) = self.inbound.remove_pending(id) {
                self.out.push_operation(StreamOp::Close(id));
                self.out.report_drop(from, Reason::Late);
            }
        }
        let is_late = |begun: Option<Instant>| begun.is_some_and(|it| it + options.liveness <= now);
        if let Some(predecessor) = self.inbound.predecessor()
            && is_late(predecessor.begun_at())
        {
            self.out.report_drop(predecessor.from(), Reason::Late);
            self.close_predecessor();
        }
        for id in self.proof.take_late(now) {
            self.out.push_operation(StreamOp::Close(id));
        }
    }

    pub(super) fn connections_due(&self) -> Option<Instant> {
        let options = &self.options;
        let inbound = self.inbound.due(options.connect_timeout, options.liveness);
        inbound.into_iter().chain(self.proof.due()).min()
    }
}
