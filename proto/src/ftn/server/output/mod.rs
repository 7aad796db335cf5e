//! Output of a server: datagrams, events and counters. This module applies no rule of the protocol.

mod counters;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;

use ring_codec::ftn::{Datagram, Header, Kind, Message, Terms};

use crate::ftn::DATAGRAM_BYTES_MAX;
use crate::ftn::carrier::{Carrier, Part, TOTAL_MAX};
use crate::ftn::server::{DropReason, Event};
use crate::time::Instant;

pub use counters::Counters;

/// Size of the outbox that is usually enough, in bytes. If the outbox grows beyond this size, it later releases the
/// additional memory.
const OUTBOX_BYTES_USUAL: usize = 1 << 20;

/// A divisor of `max_memory`. The quotient is the memory that the messages in parts of all clients together may take in
/// each direction.
const CLIENTS_SHARE: usize = 16;

const fn is_between_servers(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::State | Kind::Heartbeat | Kind::Elect | Kind::Transfer | Kind::Transferred
    )
}

/// Datagrams that wait for the driver, encoded one after the other.
#[derive(Debug, Clone, Hash)]
struct Outbox {
    // One buffer has all datagrams, which saves an allocation for each of them.
    bytes: Vec<u8>,
    /// Offset of the next datagram to fetch.
    fetched: usize,
    waiting: VecDeque<(SocketAddr, usize)>,
}

/// Everything that the driver polls, and the counters.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    from: i32,
    ssig: i32,
    /// Announcement to servers.
    terms: Terms,
    /// Announcement to clients.
    client_terms: Terms,
    outbox: Outbox,
    /// Latest time of an input.
    now: Instant,
    // The two carriers are separate, so that clients cannot displace a list of sessions.
    servers: Carrier,
    clients: Carrier,
    events: VecDeque<Event>,
    pub(crate) counters: Counters,
    /// Whether the server sends nothing, because it could not store the configuration number.
    is_stopped: bool,
}

// Counters, events and the time do not influence later states, so servers that differ only in them count as equal.
impl Hash for Output {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self {
            from,
            ssig,
            terms,
            client_terms,
            outbox,
            now: _,
            servers,
            clients,
            events: _,
            counters: _,
            is_stopped,
        } = self;
        (from, ssig, terms, client_terms).hash(state);
        (outbox, servers, clients, is_stopped).hash(state);
    }
}

impl Output {
    /// Returns an empty output. `max_memory` is the limit for the memory of clients, in bytes.
    pub(crate) fn new(from: i32, ssig: i32, terms: Terms, max_memory: usize) -> Self {
        Self {
            from,
            ssig,
            terms,
            client_terms: terms,
            outbox: Outbox {
                bytes: Vec::new(),
                fetched: 0,
                waiting: VecDeque::new(),
            },
            now: Instant::default(),
            // Servers get the full limit, because they are few and a list of sessions can be long.
            servers: Carrier::default(),
            clients: Carrier::with_limit(TOTAL_MAX.min(max_memory / CLIENTS_SHARE)),
            events: VecDeque::new(),
            counters: Counters::new(),
            is_stopped: false,
        }
    }

    pub(crate) const fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    pub(crate) const fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Stops or permits sending. Returns whether the permission to send changed.
    pub(crate) const fn set_stopped(&mut self, is_stopped: bool) -> bool {
        let is_news = self.is_stopped != is_stopped;
        self.is_stopped = is_stopped;
        is_news
    }

    /// Queues a datagram for the address `at`. `to` is the value of the field `to` in the datagram's header.
    pub(crate) fn send(&mut self, at: SocketAddr, to: i32, message: Message<'_>) {
        // The datagram could depend on a number that a crash would lose.
        if self.is_stopped {
            return;
        }
        let terms = match message {
            // Clients need the shortest timeout of all servers, but a server compares each option with its own option.
            Message::Config { .. } => self.client_terms,
            _ => self.terms,
        };
        let datagram = Datagram::new(self.header(to), message).with_terms(terms);
        let begin = self.outbox.bytes.len();
        let len = datagram.encoded_len();
        self.outbox.bytes.resize(begin + len, 0);
        if datagram.encode(&mut self.outbox.bytes[begin..]).is_err() {
            return self.outbox.bytes.truncate(begin);
        }
        self.counters.note_sent(message.kind());
        // A longer datagram would travel in IP fragments, which networks often drop.
        if len > DATAGRAM_BYTES_MAX {
            let long = self.outbox.bytes.split_off(begin);
            let (now, kind) = (self.now, message.kind());
            let to_server = is_between_servers(kind);
            let parts = self.carrier(to_server).outgoing.send(now, at, kind, &long);
            return self.send_parts(at, to, to_server, &parts);
        }
        self.outbox.waiting.push_back((at, len));
    }

    /// Sets the client timeout that is announced to clients, in microseconds.
    pub(crate) const fn announce_to_clients(&mut self, client_timeout: i64) {
        self.client_terms.client_timeout = client_timeout;
    }

    const fn header(&self, to: i32) -> Header {
        Header {
            from: self.from,
            to,
            ssig: self.ssig,
        }
    }

    /// Queues parts of a message.
    fn send_parts(&mut self, at: SocketAddr, to: i32, to_server: bool, parts: &[Part]) {
        let header = self.header(to);
        for &part in parts {
            let Some(message) = self.carrier(to_server).outgoing.message(at, part) else {
                continue;
            };
            let datagram = Datagram::new(header, message);
            let mut bytes = [0; DATAGRAM_BYTES_MAX];
            if let Ok(len) = datagram.encode(&mut bytes) {
                self.outbox.bytes.extend_from_slice(&bytes[..len]);
                self.outbox.waiting.push_back((at, len));
                self.counters.note_sent(Kind::Part);
            }
        }
    }

    /// Handles PARTED of a server or a client, and sends the parts that follow.
    pub(crate) fn on_parted(
        &mut self,
        at: SocketAddr,
        (to, is_server): (i32, bool),
        content: i64,
        came: &[u8],
    ) {
        let now = self.now;
        let outgoing = &mut self.carrier(is_server).outgoing;
        // PARTED counts even while the server may not send.
        let parts = outgoing.on_parted(now, at, content, came);
        if !self.is_stopped {
            self.send_parts(at, to, is_server, &parts);
        }
    }

    /// Returns the carrier for servers or the carrier for clients.
    pub(crate) const fn carrier(&mut self, servers: bool) -> &mut Carrier {
        if servers {
            &mut self.servers
        } else {
            &mut self.clients
        }
    }

    /// Sets the first number for messages in parts to the time of the wall clock. Only the first call has an effect.
    pub(crate) fn start(&mut self, wall: u64) {
        self.servers.outgoing.start(wall);
        self.clients.outgoing.start(wall);
    }

    /// Returns the memory of all messages in parts, in bytes.
    pub(crate) const fn parts_bytes(&self) -> usize {
        self.servers.bytes() + self.clients.bytes()
    }

    /// Deletes the messages in parts from and to a client. The client's session has ended.
    pub(crate) fn forget(&mut self, client: SocketAddr) {
        self.clients.forget(client);
    }

    /// Whether so much output is queued that the server should postpone less urgent messages.
    pub(crate) fn is_congested(&self) -> bool {
        self.outbox.bytes.len() >= OUTBOX_BYTES_USUAL
    }

    /// Copies the next datagram into `buf`. A datagram that does not fit is dropped.
    pub(crate) fn take_datagram(&mut self, buf: &mut [u8]) -> Option<(SocketAddr, usize)> {
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
        // All datagrams are fetched, so the buffer starts again at its beginning.
        self.clear();
        None
    }

    /// Drops all datagrams that wait.
    pub(crate) fn clear(&mut self) {
        self.outbox.waiting.clear();
        self.outbox.bytes.clear();
        // A rare burst must not keep its memory.
        self.outbox.bytes.shrink_to(OUTBOX_BYTES_USUAL);
        self.outbox.fetched = 0;
    }

    pub(crate) fn report(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Counts and reports a dropped datagram.
    pub(crate) fn drop(&mut self, from: SocketAddr, kind: Option<Kind>, reason: DropReason) {
        self.counters.note_dropped(reason);
        self.report(Event::Dropped { from, kind, reason });
    }
}
