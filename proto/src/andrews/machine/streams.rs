//! What happens to connections: what goes round the ring (`docs/board.md`, sections 2 and 3).

use std::net::{IpAddr, SocketAddr};

use ring_codec::andrews::Method;

use super::Andrews;
use super::connections::Side;
use crate::andrews::message::Said;
use crate::andrews::ring::Verdict;
use crate::andrews::{Event, Loss, Reason};
use crate::{Closed, StreamEvent, StreamId, StreamOp};

impl Andrews {
    /// Something has happened to a connection. Returns how many of the bytes received are done with.
    pub(super) fn on_stream(&mut self, id: StreamId, event: StreamEvent<'_, SocketAddr>) -> usize {
        match event {
            StreamEvent::Accepted(from) => self.on_accepted(id, from.ip()),
            StreamEvent::Connected => self.on_connected(id),
            StreamEvent::Received { bytes, end } => {
                self.on_bytes(id, bytes);
                if end {
                    self.on_end(id);
                }
                return bytes.len();
            }
            StreamEvent::Closed(why) => self.on_closed(id, why),
        }
        0
    }

    fn on_accepted(&mut self, id: StreamId, from: IpAddr) {
        if let Some((victim, from)) = self.inbound.accept(id, from, self.now) {
            self.out.operate(StreamOp::Close(victim));
            self.out.drop(from, Reason::Crowded);
        }
    }

    /// A connection of this node stands.
    fn on_connected(&mut self, id: StreamId) {
        if self.proof.remove(id) {
            self.heard();
            return self.out.operate(StreamOp::Close(id));
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
                Ok(Some((from, said))) => {
                    self.out.counters.note_received(said.kind());
                    if from == node {
                        self.on_said(id, side, node, source, said);
                        continue;
                    }
                    Reason::WrongSource
                }
                Err(_) => Reason::Malformed,
            };
            self.out.drop(source, refusal);
            return match side {
                Side::Predecessor => self.close_predecessor(),
                Side::Successor => self.lose_successor(Loss::Ended),
            };
        }
    }

    /// The first frame of a connection must be a hello for this node.
    fn on_first_frame(&mut self, id: StreamId, bytes: &mut &[u8]) {
        let Some((source, frame)) = self.inbound.first_frame(id, bytes, self.now) else {
            return;
        };
        let refusal = match frame {
            Err(refusal) => refusal,
            Ok(None) => return,
            Ok(Some((from, said))) => {
                self.out.counters.note_received(said.kind());
                if !self.list.is_from(from, source) {
                    self.note_sender(from, source);
                    Reason::WrongSource
                } else if said == Said::Successor(self.options.id) {
                    return self.on_hello(id, from);
                } else {
                    Reason::NotHello
                }
            }
        };
        self.inbound.remove_stranger(id);
        self.out.operate(StreamOp::Close(id));
        self.out.drop(source, refusal);
    }

    /// The newest hello says who the predecessor is.
    fn on_hello(&mut self, id: StreamId, from: u32) {
        let Some(predecessor) = self.inbound.on_hello(id, from) else {
            return;
        };
        self.heard_from(from);
        self.close_predecessor();
        self.inbound.set_predecessor(predecessor);
        self.out.event(Event::PredecessorUp { id: from });
        // Somebody has this node as its successor: its own row has one.
        if self.role.member().is_none() {
            self.database.want_look();
        }
    }

    /// A neighbour has said something.
    fn on_said(&mut self, id: StreamId, side: Side, from: u32, source: IpAddr, said: Said) {
        match (side, said) {
            (Side::Predecessor, Said::Token(sequence)) => {
                self.heard_from(from);
                self.on_token(id, sequence);
            }
            (Side::Predecessor, Said::Election(ballot)) if ballot.method() != Method::Bully => {
                self.heard_from(from);
                self.on_ballot(from, source, ballot);
            }
            (Side::Successor, Said::TokenAck(sequence)) => {
                self.heard_from(from);
                self.on_acknowledgement(sequence);
            }
            _ => self.out.drop(source, Reason::WrongTransport),
        }
    }

    /// The peer has closed its side.
    fn on_end(&mut self, id: StreamId) {
        if self.role.stream() == Some(id) {
            return self.lose_and_judge(Loss::Ended, Verdict::Ended);
        }
        if self.inbound.is_predecessor(id) {
            return self.close_predecessor();
        }
        if self.inbound.remove_stranger(id).is_some() || self.proof.remove(id) {
            self.out.operate(StreamOp::Close(id));
        }
    }

    /// A connection is gone.
    fn on_closed(&mut self, id: StreamId, why: Closed) {
        let is_answer = why == Closed::Refused;
        if self.proof.remove(id) {
            if is_answer {
                self.heard();
            }
            return;
        }
        if self.role.stream() == Some(id) {
            return self.on_successor_closed(why);
        }
        if self.inbound.is_predecessor(id) {
            return self.forget_predecessor();
        }
        self.inbound.remove_stranger(id);
    }
}
