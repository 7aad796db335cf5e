//! What leaves a server: datagrams, events and counts.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;

use ring_codec::ftn::{Datagram, Header, Kind, Message, Terms};

use super::{Counters, Event, Reason};
use crate::ftn::LONGEST;
use crate::ftn::carrier::{Incoming, Outgoing, Part};
use crate::time::Instant;

/// More bytes than one input usually makes the server send; what is reserved beyond is given back.
const USUAL: usize = 1 << 20;

/// Datagrams that wait for the driver, encoded one behind the other.
#[derive(Debug, Clone, Hash)]
struct Outbox {
    bytes: Vec<u8>,
    /// Where the next to be fetched begins.
    fetched: usize,
    waiting: VecDeque<(SocketAddr, usize)>,
}

/// Everything that the driver drains, and the counters.
#[derive(Debug, Clone)]
pub(super) struct Output {
    from: i32,
    ssig: i32,
    terms: Terms,
    outbox: Outbox,
    /// The latest time that the machine was told.
    pub(super) now: Instant,
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
    events: VecDeque<Event>,
    pub(super) counters: Counters,
    /// Nothing leaves: what it would tell of is not stored, or the server has left.
    pub(super) is_mute: bool,
}

// Counters and events are for people: nothing follows from them.
impl Hash for Output {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self {
            from,
            ssig,
            terms,
            outbox,
            now: _,
            outgoing,
            incoming,
            events: _,
            counters: _,
            is_mute,
        } = self;
        (from, ssig, terms, outbox, outgoing, incoming, is_mute).hash(state);
    }
}

impl Output {
    pub(super) fn new(from: i32, ssig: i32, terms: Terms) -> Self {
        Self {
            from,
            ssig,
            terms,
            outbox: Outbox {
                bytes: Vec::new(),
                fetched: 0,
                waiting: VecDeque::new(),
            },
            now: Instant::default(),
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            events: VecDeque::new(),
            counters: Counters::new(),
            is_mute: false,
        }
    }

    /// Queues a datagram for the address `at`; `to` is the header's.
    pub(super) fn send(&mut self, at: SocketAddr, to: i32, message: Message<'_>) {
        if self.is_mute {
            return;
        }
        let datagram = Datagram::new(self.header(to), message).with_terms(self.terms);
        let begin = self.outbox.bytes.len();
        let len = datagram.encoded_len();
        self.outbox.bytes.resize(begin + len, 0);
        if datagram.encode(&mut self.outbox.bytes[begin..]).is_err() {
            return self.outbox.bytes.truncate(begin);
        }
        self.counters.note_sent(message.kind());
        if len > LONGEST {
            let long = self.outbox.bytes.split_off(begin);
            let parts = self.outgoing.send(self.now, at, message.kind(), &long);
            return self.send_parts(at, to, &parts);
        }
        self.outbox.waiting.push_back((at, len));
    }

    const fn header(&self, to: i32) -> Header {
        Header {
            from: self.from,
            to,
            ssig: self.ssig,
        }
    }

    /// Queues parts of a message that is too long for a datagram.
    fn send_parts(&mut self, at: SocketAddr, to: i32, parts: &[Part]) {
        for &part in parts {
            let Some(message) = self.outgoing.message(at, part) else {
                continue;
            };
            let datagram = Datagram::new(self.header(to), message);
            let mut bytes = [0; LONGEST];
            if let Ok(len) = datagram.encode(&mut bytes) {
                self.outbox.bytes.extend_from_slice(&bytes[..len]);
                self.outbox.waiting.push_back((at, len));
                self.counters.note_sent(Kind::Part);
            }
        }
    }

    /// PARTED: sends what may follow.
    pub(super) fn on_parted(&mut self, at: SocketAddr, to: i32, content: i64, came: &[u8]) {
        let parts = self.outgoing.on_parted(self.now, at, content, came);
        if !self.is_mute {
            self.send_parts(at, to, &parts);
        }
    }

    /// Forgets the messages in parts from and to a peer that is no more.
    pub(super) fn forget(&mut self, peer: SocketAddr) {
        self.outgoing.forget(peer);
        self.incoming.forget(peer);
    }

    /// Whether so much waits to be sent that what can wait should.
    pub(super) fn is_long(&self) -> bool {
        self.outbox.bytes.len() >= USUAL
    }

    /// Moves the next datagram into `buf`. One that does not fit is left out.
    pub(super) fn fetch(&mut self, buf: &mut [u8]) -> Option<(SocketAddr, usize)> {
        let outbox = &mut self.outbox;
        while let Some((at, len)) = outbox.waiting.pop_front() {
            let begin = outbox.fetched;
            outbox.fetched += len;
            if let (Some(room), Some(bytes)) =
                (buf.get_mut(..len), outbox.bytes.get(begin..begin + len))
            {
                room.copy_from_slice(bytes);
                return Some((at, len));
            }
            self.counters.unsent += 1;
        }
        self.clear();
        None
    }

    /// Forgets the datagrams that have not left.
    pub(super) fn clear(&mut self) {
        self.outbox.waiting.clear();
        self.outbox.bytes.clear();
        self.outbox.bytes.shrink_to(USUAL);
        self.outbox.fetched = 0;
    }

    pub(super) fn event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Counts and tells of a dropped datagram.
    pub(super) fn drop(&mut self, from: SocketAddr, kind: Option<Kind>, reason: Reason) {
        self.counters.note_dropped(reason);
        self.event(Event::Dropped { from, kind, reason });
    }
}
