//! Opening connections, writing on them and closing them (`docs/board.md`, sections 3 and 6).

use std::net::SocketAddr;

use super::Andrews;
use crate::andrews::message::Said;
use crate::andrews::ring::{Membership, Peer};
use crate::andrews::{Event, Loss, Reason};
use crate::time::Instant;
use crate::{StreamId, StreamOp};

/// Which neighbour in the ring a connection leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Predecessor,
    Successor,
}

impl Andrews {
    /// Another node was heard, or has accepted or refused a connection: the network is there.
    pub(super) fn heard(&mut self) {
        self.proof.note(self.now);
        if let Some(plea) = self.role.plea_mut() {
            plea.on_proof(self.now);
        }
    }

    pub(super) fn heard_from(&mut self, id: u32) {
        if id != self.options.id {
            self.heard();
        }
    }

    /// Opens what is wanted: the way to the successor first.
    pub(super) fn open(&mut self, vacant: Option<StreamId>) -> Option<StreamOp<SocketAddr>> {
        let vacant = vacant?;
        let member = self.role.member_mut();
        if let Some(to) = member.and_then(|member| member.open(vacant)) {
            return self.list.address(to).map(StreamOp::Open);
        }
        let to = self.list.address(self.proof.next_wanted()?)?;
        let until = self.now + self.options.connect_timeout;
        self.proof.opened(vacant, until);
        Some(StreamOp::Open(to))
    }

    /// The neighbour at the other end of a connection that stands.
    pub(super) fn peer_mut(&mut self, id: StreamId) -> Option<(Side, &mut Peer)> {
        let predecessor = self.inbound.predecessor_mut();
        let predecessor = predecessor.map(|peer| (Side::Predecessor, peer));
        let successor = self.role.successor_mut();
        let successor = successor.map(|peer| (Side::Successor, peer));
        let mut both = predecessor.into_iter().chain(successor);
        both.find(|(_, peer)| peer.stream() == id)
    }

    /// Sends a frame round the ring; whether there is a successor that takes it.
    pub(super) fn send_on(&mut self, said: &Said) -> bool {
        let Some(successor) = self.role.successor_mut() else {
            return false;
        };
        let stream = successor.stream();
        if !successor.push(&said.encode(self.options.id)) {
            self.lose_successor(Loss::Ended);
            return false;
        }
        self.out.written(stream, said);
        true
    }

    /// Sends a frame backwards.
    pub(super) fn send_back(&mut self, said: &Said) {
        let Some(predecessor) = self.inbound.predecessor_mut() else {
            return;
        };
        let (stream, from) = (predecessor.stream(), predecessor.from());
        if !predecessor.push(&said.encode(self.options.id)) {
            self.out.drop(from, Reason::Unread);
            return self.close_predecessor();
        }
        self.out.written(stream, said);
    }

    pub(super) fn close_predecessor(&mut self) {
        if let Some(predecessor) = self.inbound.predecessor() {
            self.out.operate(StreamOp::Close(predecessor.stream()));
        }
        self.forget_predecessor();
    }

    /// There is no predecessor any longer: that is never a failure.
    pub(super) fn forget_predecessor(&mut self) {
        if let Some(predecessor) = self.inbound.take_predecessor() {
            let id = predecessor.id();
            self.out.event(Event::PredecessorLost { id });
            if self.token.parked_from() == Some(predecessor.stream()) {
                self.token.unpark();
            }
        }
    }

    /// Closes the way to the successor, without a judgement.
    pub(super) fn close_successor(&mut self) {
        let member = self.role.member_mut();
        if let Some(stream) = member.and_then(Membership::close) {
            self.out.operate(StreamOp::Close(stream));
        }
    }

    /// Connections that are late.
    pub(super) fn on_connections_due(&mut self) {
        let (now, options) = (self.now, self.options);
        for id in self.inbound.late(now, options.connect_timeout) {
            if let Some(from) = self.inbound.remove_stranger(id) {
                self.out.operate(StreamOp::Close(id));
                self.out.drop(from, Reason::Late);
            }
        }
        let is_late = |begun: Option<Instant>| begun.is_some_and(|it| it + options.liveness <= now);
        if let Some(predecessor) = self.inbound.predecessor()
            && is_late(predecessor.begun())
        {
            self.out.drop(predecessor.from(), Reason::Late);
            self.close_predecessor();
        }
        for id in self.proof.take_late(now) {
            self.out.operate(StreamOp::Close(id));
        }
    }

    pub(super) fn connections_due(&self) -> Option<Instant> {
        let options = &self.options;
        let inbound = self.inbound.due(options.connect_timeout, options.liveness);
        inbound.into_iter().chain(self.proof.due()).min()
    }
}
