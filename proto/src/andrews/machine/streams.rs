//! Events of connections, and the messages that travel round the ring (`docs/board/protocol/members.md`, rules M and
//! C).

use std::net::{IpAddr, SocketAddr};

use ring_codec::andrews::Method;

use super::Andrews;
use super::connections::Side;
use crate::andrews::message::OwnedMessage;
use crate::andrews::ring::ProcessEvidence;
use crate::andrews::{Event, Reason, SuccessorLoss};
use crate::{CloseReason, StreamEvent, StreamId, StreamOp};

impl Andrews {
    /// Handles an event of a connection. Returns the number of consumed bytes.
    pub(super) fn on_stream(&mut self, id: StreamId, event: StreamEvent<'_, SocketAddr>) -> usize {
        match event {
            StreamEvent::Accepted(from) => self.on_accepted(id, from.ip()),
            StreamEvent::Connected => self.on_connected(id),
            StreamEvent::Received { bytes, end } => {
                self.on_bytes(id, bytes);
                if end {
                    self.on_end(id);
                }
                // Frames are short, and their reader keeps an incomplete frame, so the node takes all bytes at once.
                return bytes.len();
            }
            StreamEvent::Closed(why) => self.on_closed(id, why),
        }
        0
    }

    fn on_accepted(&mut self, id: StreamId, from: IpAddr) {
        if let Some((victim, from)) = self.inbound.accept(id, from, self.now) {
            self.out.push_operation(StreamOp::Close(victim));
            self.out.report_drop(from, Reason::Crowded);
        }
    }

    fn on_connected(&mut self, id: StreamId) {
        if self.proof.remove(id) {
            self.note_contact();
            // The open connection is the proof that the network works, so the node no longer needs it.
            return self.out.push_operation(StreamOp::Close(id));
        }
        self.on_successor_connected(id);
    }

    fn on_bytes(&mut self, id: StreamId, mut bytes: &[u8]) {
        self.on_first_frame(id, &mut bytes);
        let now = self.now;
        while let Some((side, peer)) = self.peer_mut(id) {
            let (node, source) = (peer.id(), peer.from());
            let refusal = match peer.read(&mut bytes, now) {
                Ok(None) => return,
                Ok(Some((from, message))) => {
                    self.out.counters.note_received(message.kind());
                    // If the sender differs from the sender of the hello, this frame and the next frames are mixed up
                    // or forged.
                    if from == node {
                        self.on_neighbor_message(id, side, node, source, message);
                        continue;
                    }
                    Reason::WrongSource
                }
                Err(_) => Reason::Malformed,
            };
            self.out.report_drop(source, refusal);
            return match side {
                Side::Predecessor => self.close_predecessor(),
                Side::Successor => self.lose_successor(SuccessorLoss::Ended),
            };
        }
    }

    /// Handles the first frame of a connection, which must be a hello for this node.
    fn on_first_frame(&mut self, id: StreamId, bytes: &mut &[u8]) {
        let Some((source, frame)) = self.inbound.read_first_frame(id, bytes, self.now) else {
            return;
        };
        let refusal = match frame {
            Err(refusal) => refusal,
            Ok(None) => return,
            Ok(Some((from, message))) => {
                self.out.counters.note_received(message.kind());
                if !self.list.is_from(from, source) {
                    self.note_sender(from, source);
                    Reason::WrongSource
                } else if message == OwnedMessage::Successor(self.options.id) {
                    return self.on_hello(id, from);
                } else {
                    Reason::NotHello
                }
            }
        };
        self.inbound.remove_pending(id);
        self.out.push_operation(StreamOp::Close(id));
        self.out.report_drop(source, refusal);
    }

    /// Handles a hello. The sender of the newest hello becomes the predecessor, because the newest hello follows the
    /// newest row.
    fn on_hello(&mut self, id: StreamId, from: u32) {
        let Some(predecessor) = self.inbound.on_hello(id, from) else {
            return;
        };
        self.note_contact_with(from);
        self.close_predecessor();
        self.inbound.set_predecessor(predecessor);
        self.out.push_event(Event::PredecessorUp { id: from });
        // The sender has this node as its successor, so the rows must have a successor for this node.
        if self.role.member().is_none() {
            self.database.want_look();
        }
    }

    fn on_neighbor_message(
        &mut self,
        id: StreamId,
        side: Side,
        from: u32,
        source: IpAddr,
        message: OwnedMessage,
    ) {
        match (side, message) {
            (Side::Predecessor, OwnedMessage::Token(sequence)) => {
                self.note_contact_with(from);
                self.on_token(id, sequence);
            }
            (Side::Predecessor, OwnedMessage::Election(election))
                if election.method() != Method::Bully =>
            {
                self.note_contact_with(from);
                self.on_election_message(from, source, election);
            }
            (Side::Successor, OwnedMessage::TokenAck(sequence)) => {
                self.note_contact_with(from);
                self.on_acknowledgement(sequence);
            }
            // The connection stays open, because closing it would break a ring that works.
            _ => self.out.report_drop(source, Reason::WrongTransport),
        }
    }

    /// Handles the end of the stream from the peer.
    fn on_end(&mut self, id: StreamId) {
        if self.role.stream() == Some(id) {
            // An end of stream comes from the peer's host, so the process has closed the connection.
            return self.lose_with_evidence(SuccessorLoss::Ended, ProcessEvidence::Ended);
        }
        if self.inbound.is_predecessor(id) {
            return self.close_predecessor();
        }
        if self.inbound.remove_pending(id).is_some() || self.proof.remove(id) {
            self.out.push_operation(StreamOp::Close(id));
        }
    }

    /// Handles a connection that the kernel closed.
    fn on_closed(&mut self, id: StreamId, why: CloseReason) {
        // A refusal is an answer of the other host, so the network works.
        let is_answer = why == CloseReason::Refused;
        if self.proof.remove(id) {
            if is_answer {
                self.note_contact();
            }
            return;
        }
        if self.role.stream() == Some(id) {
            return self.on_successor_closed(why);
        }
        if self.inbound.is_predecessor(id) {
            return self.forget_predecessor();
        }
        self.inbound.remove_pending(id);
    }
}
