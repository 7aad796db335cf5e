//! The outputs of the node: datagrams, operations on connections, events and counters.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use crate::andrews::message::OwnedMessage;
use crate::andrews::{Counters, Event, NodeList, Reason};
use crate::{StreamId, StreamOp};

/// A message to many nodes is sent in parts of this many datagrams, and the node handles other inputs between the
/// parts. If the node sent all datagrams at once, BULLY would send thousands of datagrams. The buffers of the sockets
/// are too small for them.
const BROADCAST_PART_LEN: usize = 32;
/// At most this many messages to many nodes are pending at a time. Beyond this number, the oldest message is discarded.
const BROADCASTS_MAX: usize = 4;

/// The counters, and all outputs for the driver except the jobs.
#[derive(Debug)]
pub(super) struct Outbox {
    own: u32,
    datagrams: VecDeque<(SocketAddr, Vec<u8>)>,
    broadcasts: VecDeque<(OwnedMessage, VecDeque<u32>)>,
    pub(super) operations: VecDeque<StreamOp<SocketAddr>>,
    events: VecDeque<Event>,
    pub(super) counters: Counters,
}

impl Outbox {
    pub(super) const fn new(own: u32) -> Self {
        Self {
            own,
            datagrams: VecDeque::new(),
            broadcasts: VecDeque::new(),
            operations: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::new(),
        }
    }

    /// Queues a datagram. A node that is not in the list has no address, so it gets no datagram.
    pub(super) fn send(&mut self, list: &NodeList, to: u32, message: &OwnedMessage) {
        if let Some(address) = list.address(to) {
            self.datagrams
                .push_back((address, message.encode(self.own)));
            self.counters.note_sent(message.kind());
        }
    }

    /// Queues a message to many nodes.
    pub(super) fn broadcast(&mut self, message: OwnedMessage, to: impl Iterator<Item = u32>) {
        // The newest message of an election makes older messages useless.
        if self.broadcasts.len() >= BROADCASTS_MAX {
            self.broadcasts.pop_front();
        }
        self.broadcasts.push_back((message, to.collect()));
    }

    /// Queues the next part of the datagrams of pending messages to many nodes.
    pub(super) fn continue_broadcasts(&mut self, list: &NodeList) {
        for _ in 0..BROADCAST_PART_LEN {
            let Some((message, to)) = self.broadcasts.front_mut() else {
                return;
            };
            let (message, next) = (message.clone(), to.pop_front());
            match next {
                Some(id) => self.send(list, id, &message),
                None => drop(self.broadcasts.pop_front()),
            }
        }
    }

    pub(super) fn has_broadcasts(&self) -> bool {
        !self.broadcasts.is_empty()
    }

    /// Moves the next datagram into `buf`. Discards datagrams that do not fit.
    pub(super) fn pop_datagram(&mut self, buf: &mut [u8]) -> Option<(SocketAddr, usize)> {
        while let Some((to, bytes)) = self.datagrams.pop_front() {
            if let Some(room) = buf.get_mut(..bytes.len()) {
                room.copy_from_slice(&bytes);
                return Some((to, bytes.len()));
            }
        }
        None
    }

    /// Counts a frame that was queued on a connection, and asks the driver to write.
    pub(super) fn on_frame_queued(&mut self, stream: StreamId, message: &OwnedMessage) {
        self.counters.note_sent(message.kind());
        self.push_operation(StreamOp::Write(stream));
    }

    pub(super) fn push_operation(&mut self, operation: StreamOp<SocketAddr>) {
        self.operations.push_back(operation);
    }

    pub(super) fn push_event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Counts and reports a frame that was dropped.
    pub(super) fn report_drop(&mut self, from: IpAddr, reason: Reason) {
        self.counters.note_dropped(reason);
        self.push_event(Event::Dropped { from, reason });
    }
}
