//! Opening connections, writing on them and closing them (`docs/board.md`, sections 3 and 6).

use std::net::SocketAddr;

use super::Andrews;
use crate::andrews::event::Loss;
use crate::andrews::message::Said;
use crate::andrews::ring::{Attempt, Link, Verdict};
use crate::andrews::{Event, Reason};
use crate::time::Instant;
use crate::{StreamId, StreamOp};

impl Andrews {
    /// Another node was heard, or has accepted or refused a connection: the network is there.
    pub(super) fn heard(&mut self) {
        self.proof.note(self.now);
        self.on_proof();
    }

    pub(super) fn heard_from(&mut self, id: u32) {
        if id != self.options.id {
            self.heard();
        }
    }

    /// Whether a connection is the one to the successor.
    pub(super) fn is_successor(&self, id: StreamId) -> bool {
        let member = self.role.member();
        member.is_some_and(|member| member.link.stream() == Some(id))
    }

    /// Opens what is wanted: the way to the successor first.
    pub(super) fn open(&mut self, vacant: Option<StreamId>) -> Option<StreamOp<SocketAddr>> {
        let vacant = vacant?;
        if let Some(member) = self.role.member_mut()
            && let Link::Connecting(attempt) = &mut member.link
            && attempt.stream.is_none()
        {
            attempt.stream = Some(vacant);
            let to = self.list.address(attempt.to)?;
            return Some(StreamOp::Open(to));
        }
        let to = self.list.address(self.proof.wanted.pop()?)?;
        let until = self.now + self.options.connect_timeout;
        self.proof.open.insert(vacant, until);
        Some(StreamOp::Open(to))
    }

    pub(super) fn write(&mut self, id: StreamId, room: &mut [u8]) -> usize {
        if let Some(member) = self.role.member_mut()
            && let Some(successor) = member.link.up_mut()
            && successor.stream == id
        {
            return successor.unsent.write(room);
        }
        let predecessor = self.inbound.predecessor.as_mut();
        predecessor
            .filter(|it| it.stream == id)
            .map_or(0, |it| it.unsent.write(room))
    }

    /// Sends a frame round the ring; whether there is a successor that takes it.
    pub(super) fn send_on(&mut self, said: &Said) -> bool {
        let member = self.role.member_mut();
        let Some(successor) = member.and_then(|member| member.link.up_mut()) else {
            return false;
        };
        let stream = successor.stream;
        if !successor.unsent.push(&said.encode(self.options.id)) {
            self.lose_successor(Loss::Ended);
            return false;
        }
        self.out.counters.note_sent(said.kind());
        self.out.operate(StreamOp::Write(stream));
        true
    }

    /// Sends a frame backwards.
    pub(super) fn send_back(&mut self, said: &Said) {
        let Some(predecessor) = &mut self.inbound.predecessor else {
            return;
        };
        let (stream, from) = (predecessor.stream, predecessor.from);
        if !predecessor.unsent.push(&said.encode(self.options.id)) {
            self.out.drop(from, Reason::Unread);
            return self.close_predecessor();
        }
        self.out.counters.note_sent(said.kind());
        self.out.operate(StreamOp::Write(stream));
    }

    pub(super) fn close_predecessor(&mut self) {
        if let Some(predecessor) = &self.inbound.predecessor {
            self.out.operate(StreamOp::Close(predecessor.stream));
        }
        self.forget_predecessor();
    }

    /// There is no predecessor any longer: that is never a failure.
    pub(super) fn forget_predecessor(&mut self) {
        if let Some(predecessor) = self.inbound.predecessor.take() {
            self.out
                .event(Event::PredecessorLost { id: predecessor.id });
            if self.token.parked_from() == Some(predecessor.stream) {
                self.token.unpark();
            }
        }
    }

    /// Begins to connect to a node.
    pub(super) fn connect(&mut self, to: u32, lost_at: Option<Instant>, verdict: Verdict) {
        self.close_successor();
        let until = self.now + self.options.connect_timeout;
        let is_known = self.list.address(to).is_some();
        if let Some(member) = self.role.member_mut() {
            member.link = Link::Connecting(Attempt {
                to,
                stream: None,
                until,
                lost_at,
                verdict,
            });
        }
        // A node that is not in the list cannot be reached.
        if !is_known {
            self.lose_successor(Loss::NotConnected);
        }
    }

    /// Closes the way to the successor, without a judgement.
    pub(super) fn close_successor(&mut self) {
        if let Some(member) = self.role.member_mut() {
            if let Some(stream) = member.link.stream() {
                self.out.operate(StreamOp::Close(stream));
            }
            member.link = Link::None;
        }
    }

    /// Connections that are late.
    pub(super) fn on_connections_due(&mut self) {
        let (now, options) = (self.now, self.options);
        for id in self.inbound.late(now, options.connect_timeout) {
            if let Some(stranger) = self.inbound.remove_stranger(id) {
                self.out.operate(StreamOp::Close(id));
                self.out.drop(stranger.from, Reason::Late);
            }
        }
        let is_late = |begun: Option<Instant>| begun.is_some_and(|it| it + options.liveness <= now);
        if let Some(predecessor) = &self.inbound.predecessor
            && is_late(predecessor.reader.begun())
        {
            self.out.drop(predecessor.from, Reason::Late);
            self.close_predecessor();
        }
        let probes = self.proof.open.iter().filter(|(_, until)| **until <= now);
        let late: Vec<StreamId> = probes.map(|(&id, _)| id).collect();
        for id in late {
            self.proof.open.remove(&id);
            self.out.operate(StreamOp::Close(id));
        }
    }

    pub(super) fn connections_due(&self) -> Option<Instant> {
        let options = &self.options;
        let inbound = self.inbound.due(options.connect_timeout, options.liveness);
        let probes = self.proof.open.values().copied();
        probes.chain(inbound).min()
    }
}
