//! What leaves a node: datagrams, operations on connections, events and counts.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use crate::andrews::message::Said;
use crate::andrews::{Counters, Event, NodeList, Reason};
use crate::{StreamId, StreamOp};

/// The most datagrams that one input makes of a message to many: the others follow at once, between other inputs.
const PART: usize = 32;
/// The most messages to many that are on their way; the oldest goes.
const MOST_SPREAD: usize = 4;

/// Everything that the driver drains but jobs, and the counters.
#[derive(Debug)]
pub(super) struct Output {
    own: u32,
    datagrams: VecDeque<(SocketAddr, Vec<u8>)>,
    spread: VecDeque<(Said, VecDeque<u32>)>,
    pub(super) operations: VecDeque<StreamOp<SocketAddr>>,
    events: VecDeque<Event>,
    pub(super) counters: Counters,
}

impl Output {
    pub(super) const fn new(own: u32) -> Self {
        Self {
            own,
            datagrams: VecDeque::new(),
            spread: VecDeque::new(),
            operations: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::new(),
        }
    }

    /// Queues a datagram. A node that is not in the list has no address, and gets none.
    pub(super) fn send(&mut self, list: &NodeList, to: u32, said: &Said) {
        if let Some(address) = list.address(to) {
            self.datagrams.push_back((address, said.encode(self.own)));
            self.counters.note_sent(said.kind());
        }
    }

    /// Queues a datagram to many.
    pub(super) fn spread(&mut self, said: Said, to: impl Iterator<Item = u32>) {
        if self.spread.len() >= MOST_SPREAD {
            self.spread.pop_front();
        }
        self.spread.push_back((said, to.collect()));
    }

    /// Moves the next part of what goes to many.
    pub(super) fn spread_on(&mut self, list: &NodeList) {
        for _ in 0..PART {
            let Some((said, to)) = self.spread.front_mut() else {
                return;
            };
            let (said, next) = (said.clone(), to.pop_front());
            match next {
                Some(id) => self.send(list, id, &said),
                None => drop(self.spread.pop_front()),
            }
        }
    }

    pub(super) fn is_spreading(&self) -> bool {
        !self.spread.is_empty()
    }

    /// Moves the next datagram into `buf`. One that does not fit is left out.
    pub(super) fn fetch(&mut self, buf: &mut [u8]) -> Option<(SocketAddr, usize)> {
        while let Some((to, bytes)) = self.datagrams.pop_front() {
            if let Some(room) = buf.get_mut(..bytes.len()) {
                room.copy_from_slice(&bytes);
                return Some((to, bytes.len()));
            }
        }
        None
    }

    /// A frame waits to be written on a connection.
    pub(super) fn written(&mut self, stream: StreamId, said: &Said) {
        self.counters.note_sent(said.kind());
        self.operate(StreamOp::Write(stream));
    }

    pub(super) fn operate(&mut self, operation: StreamOp<SocketAddr>) {
        self.operations.push_back(operation);
    }

    pub(super) fn event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Counts and tells of what was dropped.
    pub(super) fn drop(&mut self, from: IpAddr, reason: Reason) {
        self.counters.note_dropped(reason);
        self.event(Event::Dropped { from, reason });
    }
}
