//! What leaves a node: datagrams, operations on connections, events and counts.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use ring_codec::jitterbug::{Kind, Message, Terms};

use crate::StreamOp;
use crate::jitterbug::{Counters, Event, Reason};

/// The longest datagram, TR1 with terms.
const LONGEST: usize = 7 + Terms::LEN;

/// A datagram that waits for the driver.
#[derive(Debug)]
struct Datagram {
    to: SocketAddr,
    bytes: [u8; LONGEST],
    len: usize,
    kind: Kind,
    ticket: u64,
}

/// Everything that the driver drains but jobs, and the counters.
#[derive(Debug)]
pub(super) struct Output {
    datagrams: VecDeque<Datagram>,
    operations: VecDeque<StreamOp<SocketAddr>>,
    events: VecDeque<Event>,
    pub(super) counters: Counters,
}

impl Output {
    pub(super) const fn new() -> Self {
        Self {
            datagrams: VecDeque::new(),
            operations: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::new(),
        }
    }

    /// Queues a datagram; its outcome is reported with the ticket.
    pub(super) fn send(&mut self, to: SocketAddr, message: &Message<'_>, ticket: u64) {
        let mut bytes = [0; LONGEST];
        // TR1 and TR2 fit.
        let len = message.encode(&mut bytes).unwrap_or_default();
        self.datagrams.push_back(Datagram {
            to,
            bytes,
            len,
            kind: message.kind(),
            ticket,
        });
    }

    /// Moves the next datagram into `buf`: whom it is for, its length and its ticket. One that does not fit is left out.
    pub(super) fn fetch(&mut self, buf: &mut [u8]) -> Option<(SocketAddr, usize, u64)> {
        while let Some(next) = self.datagrams.pop_front() {
            if let (Some(room), Some(bytes)) = (buf.get_mut(..next.len), next.bytes.get(..next.len))
            {
                room.copy_from_slice(bytes);
                // Not before: those that are cleared are given to nobody.
                match next.kind {
                    Kind::Tr1 => self.counters.tr1_sent += 1,
                    _ => self.counters.tr2_sent += 1,
                }
                return Some((next.to, next.len, next.ticket));
            }
        }
        None
    }

    pub(super) fn operate(&mut self, operation: StreamOp<SocketAddr>) {
        self.operations.push_back(operation);
    }

    pub(super) fn next_operation(&mut self) -> Option<StreamOp<SocketAddr>> {
        self.operations.pop_front()
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

    /// Forgets the datagrams that have not left.
    pub(super) fn clear_datagrams(&mut self) {
        self.datagrams.clear();
    }
}
