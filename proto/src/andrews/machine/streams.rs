//! What happens to connections: what goes round the ring (`docs/board.md`, sections 2 and 3).

use std::net::{IpAddr, SocketAddr};

use ring_codec::andrews::{Kind, Method};

use super::Andrews;
use crate::andrews::event::Loss;
use crate::andrews::message::Said;
use crate::andrews::ring::Predecessor;
use crate::andrews::ring::Unsent;
use crate::andrews::ring::Verdict;
use crate::andrews::{Event, Reason};
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
        if self.proof.open.remove(&id).is_some() {
            self.heard();
            return self.out.operate(StreamOp::Close(id));
        }
        self.on_successor_connected(id);
    }

    fn on_bytes(&mut self, id: StreamId, mut bytes: &[u8]) {
        if self.inbound.stranger(id).is_some() {
            self.on_first_frame(id, &mut bytes);
        }
        if self.inbound.is_predecessor(id) {
            self.on_predecessor_bytes(id, &mut bytes);
        } else if self.is_successor(id) {
            self.on_successor_bytes(id, &mut bytes);
        }
    }

    /// The first frame of a connection must be a hello for this node.
    fn on_first_frame(&mut self, id: StreamId, bytes: &mut &[u8]) {
        let now = self.now;
        let Some(stranger) = self.inbound.stranger(id) else {
            return;
        };
        let source = stranger.from;
        let first = bytes.get(1).copied();
        let frame = stranger.reader.next(bytes, now);
        let kind = stranger.reader.kind().or(first);
        let refusal = match frame {
            Err(_) => Reason::Malformed,
            // Nothing longer than a hello is awaited.
            Ok(None) if kind.is_some_and(|kind| kind != Kind::Successor as u8) => Reason::NotHello,
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
        let Some(stranger) = self.inbound.remove_stranger(id) else {
            return;
        };
        self.heard_from(from);
        self.close_predecessor();
        self.inbound.predecessor = Some(Predecessor {
            id: from,
            stream: id,
            from: stranger.from,
            reader: stranger.reader,
            unsent: Unsent::default(),
        });
        self.out.event(Event::PredecessorUp { id: from });
        // Somebody has this node as its successor: its own row has one.
        if self.role.member().is_none() {
            self.database.want_look();
        }
    }

    fn on_predecessor_bytes(&mut self, id: StreamId, bytes: &mut &[u8]) {
        loop {
            let now = self.now;
            let Some(predecessor) = &mut self.inbound.predecessor else {
                return;
            };
            if predecessor.stream != id {
                return;
            }
            let (own, source) = (predecessor.id, predecessor.from);
            let (from, said) = match predecessor.reader.next(bytes, now) {
                Ok(Some(frame)) => frame,
                Ok(None) => return,
                Err(_) => {
                    self.out.drop(source, Reason::Malformed);
                    return self.close_predecessor();
                }
            };
            self.out.counters.note_received(said.kind());
            if from != own {
                self.out.drop(source, Reason::WrongSource);
                return self.close_predecessor();
            }
            match said {
                Said::Token(sequence) => {
                    self.heard_from(from);
                    self.on_token(id, sequence);
                }
                Said::Election(ballot) if ballot.method() != Method::Bully => {
                    self.heard_from(from);
                    self.on_ballot(from, source, ballot);
                }
                _ => self.out.drop(source, Reason::WrongTransport),
            }
        }
    }

    fn on_successor_bytes(&mut self, id: StreamId, bytes: &mut &[u8]) {
        loop {
            let now = self.now;
            let member = self.role.member_mut();
            let up = member.and_then(|member| member.link.up_mut());
            let Some(successor) = up.filter(|it| it.stream == id) else {
                return;
            };
            let to = successor.to;
            let Some(source) = self.list.address(to) else {
                return;
            };
            let source = source.ip();
            let (from, said) = match successor.reader.next(bytes, now) {
                Ok(Some(frame)) => frame,
                Ok(None) => return,
                Err(_) => {
                    self.out.drop(source, Reason::Malformed);
                    return self.lose_successor(Loss::Ended);
                }
            };
            self.out.counters.note_received(said.kind());
            if from != to {
                self.out.drop(source, Reason::WrongSource);
                return self.lose_successor(Loss::Ended);
            }
            match said {
                Said::TokenAck(sequence) => {
                    self.heard_from(from);
                    self.on_acknowledgement(sequence);
                }
                _ => self.out.drop(source, Reason::WrongTransport),
            }
        }
    }

    /// The peer has closed its side.
    fn on_end(&mut self, id: StreamId) {
        if self.is_successor(id) {
            self.lose_successor(Loss::Ended);
            return self.judge_successor(Verdict::Ended);
        }
        if self.inbound.is_predecessor(id) {
            return self.close_predecessor();
        }
        if self.inbound.remove_stranger(id).is_some() || self.proof.open.remove(&id).is_some() {
            self.out.operate(StreamOp::Close(id));
        }
    }

    /// A connection is gone.
    fn on_closed(&mut self, id: StreamId, why: Closed) {
        let is_answer = why == Closed::Refused;
        if self.proof.open.remove(&id).is_some() {
            if is_answer {
                self.heard();
            }
            return;
        }
        if self.is_successor(id) {
            return self.on_successor_closed(why);
        }
        if self.inbound.is_predecessor(id) {
            return self.forget_predecessor();
        }
        self.inbound.remove_stranger(id);
    }
}
