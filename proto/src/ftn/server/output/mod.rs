//! What leaves a server: datagrams, events and counts.

mod counters;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;

use ring_codec::ftn::{Datagram, Header, Kind, Message, Terms};

use crate::ftn::LONGEST;
use crate::ftn::carrier::{Carrier, Part, TOTAL_MAX};
use crate::ftn::server::{Event, Reason};
use crate::time::Instant;

pub use counters::Counters;

/// More bytes than one input usually makes the server send; what is reserved beyond is given back.
const USUAL: usize = 1 << 20;

/// Messages in parts of clients take this share of the memory at most, in each direction.
const CLIENTS_SHARE: usize = 16;

const fn is_between_servers(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::State | Kind::Heartbeat | Kind::Elect | Kind::Transfer | Kind::Transferred
    )
}

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
pub(crate) struct Output {
    from: i32,
    ssig: i32,
    /// What is announced to servers.
    terms: Terms,
    /// What is announced to clients.
    client_terms: Terms,
    outbox: Outbox,
    /// The latest time that the machine was told.
    now: Instant,
    /// Messages in parts from and to servers. They have room of their own: no client is to crowd out a list of sessions.
    servers: Carrier,
    /// Those from and to clients, which may make them take a share of the memory.
    clients: Carrier,
    events: VecDeque<Event>,
    pub(crate) counters: Counters,
    /// Nothing leaves: what it would tell of is not stored, or the server has left.
    is_mute: bool,
}

// Counters and events are for people: nothing follows from them.
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
            is_mute,
        } = self;
        (from, ssig, terms, client_terms).hash(state);
        (outbox, servers, clients, is_mute).hash(state);
    }
}

impl Output {
    /// `max_memory`: what clients may make the server take, in bytes.
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
            servers: Carrier::default(),
            clients: Carrier::limited(TOTAL_MAX.min(max_memory / CLIENTS_SHARE)),
            events: VecDeque::new(),
            counters: Counters::new(),
            is_mute: false,
        }
    }

    /// Time has passed.
    pub(crate) const fn advance(&mut self, now: Instant) {
        self.now = now;
    }

    #[cfg(debug_assertions)]
    pub(crate) const fn is_mute(&self) -> bool {
        self.is_mute
    }

    /// Nothing leaves from now on, or it does again. Returns whether that is news.
    pub(crate) const fn set_mute(&mut self, is_mute: bool) -> bool {
        let is_news = self.is_mute != is_mute;
        self.is_mute = is_mute;
        is_news
    }

    /// Queues a datagram for the address `at`; `to` is the header's.
    pub(crate) fn send(&mut self, at: SocketAddr, to: i32, message: Message<'_>) {
        if self.is_mute {
            return;
        }
        let terms = match message {
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
        if len > LONGEST {
            let long = self.outbox.bytes.split_off(begin);
            let (now, kind) = (self.now, message.kind());
            let to_server = is_between_servers(kind);
            let parts = self.carrier(to_server).outgoing.send(now, at, kind, &long);
            return self.send_parts(at, to, to_server, &parts);
        }
        self.outbox.waiting.push_back((at, len));
    }

    /// Announces a client timeout to clients from now on, in microseconds.
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

    /// Queues parts of a message that is too long for a datagram.
    fn send_parts(&mut self, at: SocketAddr, to: i32, to_server: bool, parts: &[Part]) {
        let header = self.header(to);
        for &part in parts {
            let Some(message) = self.carrier(to_server).outgoing.message(at, part) else {
                continue;
            };
            let datagram = Datagram::new(header, message);
            let mut bytes = [0; LONGEST];
            if let Ok(len) = datagram.encode(&mut bytes) {
                self.outbox.bytes.extend_from_slice(&bytes[..len]);
                self.outbox.waiting.push_back((at, len));
                self.counters.note_sent(Kind::Part);
            }
        }
    }

    /// PARTED of a server or a client: sends what may follow.
    pub(crate) fn on_parted(
        &mut self,
        at: SocketAddr,
        (to, is_server): (i32, bool),
        content: i64,
        came: &[u8],
    ) {
        let now = self.now;
        let outgoing = &mut self.carrier(is_server).outgoing;
        let parts = outgoing.on_parted(now, at, content, came);
        if !self.is_mute {
            self.send_parts(at, to, is_server, &parts);
        }
    }

    /// The messages in parts from and to servers, or clients.
    pub(crate) const fn carrier(&mut self, servers: bool) -> &mut Carrier {
        if servers {
            &mut self.servers
        } else {
            &mut self.clients
        }
    }

    /// Messages in parts are numbered from a time on. The first time counts.
    pub(crate) fn start(&mut self, wall: u64) {
        self.servers.outgoing.start(wall);
        self.clients.outgoing.start(wall);
    }

    /// What messages in parts take, in bytes.
    pub(crate) const fn parts_bytes(&self) -> usize {
        self.servers.bytes() + self.clients.bytes()
    }

    /// Forgets the messages in parts from and to a client whose session is over.
    pub(crate) fn forget(&mut self, client: SocketAddr) {
        self.clients.forget(client);
    }

    /// Whether so much waits to be sent that what can wait should.
    pub(crate) fn is_long(&self) -> bool {
        self.outbox.bytes.len() >= USUAL
    }

    /// Moves the next datagram into `buf`. One that does not fit is left out.
    pub(crate) fn fetch(&mut self, buf: &mut [u8]) -> Option<(SocketAddr, usize)> {
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
    pub(crate) fn clear(&mut self) {
        self.outbox.waiting.clear();
        self.outbox.bytes.clear();
        self.outbox.bytes.shrink_to(USUAL);
        self.outbox.fetched = 0;
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Counts and tells of a dropped datagram.
    pub(crate) fn drop(&mut self, from: SocketAddr, kind: Option<Kind>, reason: Reason) {
        self.counters.note_dropped(reason);
        self.event(Event::Dropped { from, kind, reason });
    }
}
