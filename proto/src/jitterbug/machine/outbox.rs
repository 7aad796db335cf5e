//! The outputs of the node: datagrams, operations on connections, events and counters.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use ring_codec::jitterbug::{Kind, Message, Terms};

use crate::StreamOp;
use crate::jitterbug::{Counters, Event, Reason};

/// The length of the longest datagram: TR1 with terms.
const DATAGRAM_LEN_MAX: usize = 7 + Terms::LEN;

/// A datagram that waits for the driver.
#[derive(Debug)]
struct Datagram {
    to: SocketAddr,
    bytes: [u8; DATAGRAM_LEN_MAX],
    len: usize,
    kind: Kind,
    ticket: u64,
}

/// The outputs that the driver takes, except jobs, and the counters.
#[derive(Debug)]
pub(super) struct Outbox {
    datagrams: VecDeque<Datagram>,
    operations: VecDeque<StreamOp<SocketAddr>>,
    events: VecDeque<Event>,
    pub(super) counters: Counters,
}

impl Outbox {
    pub(super) const fn new() -> Self {
        Self {
            datagrams: VecDeque::new(),
            operations: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::new(),
        }
    }

    /// Queues a datagram. The driver reports its outcome with the ticket.
    pub(super) fn send(&mut self, to: SocketAddr, message: &Message<'_>, ticket: u64) {
        let mut bytes = [0; DATAGRAM_LEN_MAX];
        // The buffer is long enough for TR1 and TR2.
        let len = message.encode(&mut bytes).unwrap_or_default();
        self.datagrams.push_back(Datagram {
            to,
            bytes,
            len,
            kind: message.kind(),
            ticket,
        });
    }

    /// Moves the next datagram into `buf`. Returns the receiver, the length and the ticket of the datagram. Discards
    /// datagrams that do not fit.
    pub(super) fn pop_datagram(&mut self, buf: &mut [u8]) -> Option<(SocketAddr, usize, u64)> {
        while let Some(next) = self.datagrams.pop_front() {
            if let (Some(room), Some(bytes)) = (buf.get_mut(..next.len), next.bytes.get(..next.len))
            {
                room.copy_from_slice(bytes);
                // Datagrams are counted here, because a datagram that was cleared before has not left.
                match next.kind {
                    Kind::Tr1 => self.counters.tr1_sent += 1,
                    _ => self.counters.tr2_sent += 1,
                }
                return Some((next.to, next.len, next.ticket));
            }
        }
        None
    }

    pub(super) fn push_operation(&mut self, operation: StreamOp<SocketAddr>) {
        self.operations.push_back(operation);
    }

    pub(super) fn next_operation(&mut self) -> Option<StreamOp<SocketAddr>> {
        self.operations.pop_front()
    }

    pub(super) fn push_event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(super) fn report_drop(&mut self, from: IpAddr, reason: Reason) {
        self.counters.note_dropped(reason);
        self.push_event(Event::Dropped { from, reason });
    }

    /// Discards the datagrams that are still in the queue.
    pub(super) fn clear_datagrams(&mut self) {
        self.datagrams.clear();
    }
}
