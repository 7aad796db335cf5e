//! One server whose inputs come from the test. Datagrams go in, and lines of text come out.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::{
    Access, Assignment, Datagram, Flags, Header, Holders, ListedSession, Message, ServerState,
    Terms, Token,
};

pub(crate) use super::notation::*;
use crate::ftn::carrier::test_peer::TestPeer;
use crate::ftn::carrier::{Part, PartSender};
use crate::ftn::catalog::{HoldKind, Marker};
pub(crate) use crate::ftn::server::{
    Command, DropReason, Durable, Event, Options, RoleKind, Server, majority,
};
use crate::ftn::server::{NetworkState, Snapshot};
use crate::time::{Instant, Now};
use crate::{Machine, SendOutcome, StoreOutcome};

pub(crate) const MS: Duration = Duration::from_millis(1);
pub(crate) const HB: Duration = Duration::from_secs(1);
pub(crate) const ST: Duration = Duration::from_secs(4);
pub(crate) const CT: Duration = Duration::from_secs(15);
pub(crate) const RETRY: Duration = Duration::from_millis(100);

pub(crate) const fn ms(millis: u32) -> Duration {
    Duration::from_millis(millis as u64)
}

/// A server with its clock and its output.
pub(crate) struct Rig {
    pub server: Server,
    pub now: Now,
    pub events: Vec<Event>,
    /// Last value that the server stored.
    pub durable: Durable,
    pub disk_full: bool,
    /// Datagrams that the server sent after the last input.
    pub datagrams: Vec<(SocketAddr, Vec<u8>)>,
    /// Ids of clients' sessions.
    ids: BTreeMap<u16, i32>,
    /// Assembles messages that the server sends in parts.
    test_peer: TestPeer,
    /// Whether peers acknowledge parts.
    pub acknowledges_parts: bool,
}

/// Returns the default options, but with a grace of zero.
pub(crate) fn options() -> Options {
    Options {
        grace: Duration::ZERO,
        ..Options::default()
    }
}

/// Returns [`options`] with this quorum.
pub(crate) fn quorum(quorum: usize) -> Options {
    Options {
        quorum,
        ..options()
    }
}

impl Rig {
    /// Returns server `index` of `count` just after its start.
    pub(crate) fn start(count: usize, index: usize, options: Options, durable: Durable) -> Self {
        let mut rig = Self {
            server: Server::new(options, servers(count), index, durable, 7).unwrap(),
            now: Now {
                monotonic: Instant::from_nanos(1_000_000_000),
                wall: 0,
            },
            events: Vec::new(),
            durable,
            disk_full: false,
            datagrams: Vec::new(),
            ids: BTreeMap::new(),
            test_peer: TestPeer::default(),
            acknowledges_parts: true,
        };
        rig.input(|server, now| server.handle_link(now, NetworkState::Up));
        rig
    }

    /// Returns a READY server without other servers in its group.
    pub(crate) fn alone() -> Self {
        Self::alone_with(options())
    }

    pub(crate) fn alone_with(options: Options) -> Self {
        let mut rig = Self::start(1, 0, options, Durable::default());
        rig.pass(HB);
        assert_eq!(rig.snapshot().state, R);
        rig.events.clear();
        rig
    }

    /// Returns server 0 of `count`. Server 0 leads and is READY under configuration 2·count, and the other servers are
    /// DOWN.
    pub(crate) fn leader(count: usize) -> Self {
        Self::leader_with(count, options())
    }

    pub(crate) fn leader_with(count: usize, options: Options) -> Self {
        let mut rig = Self::start(count, 0, options, Durable::default());
        rig.pass(ST);
        for other in 1..options.quorum {
            for _ in 0..2 {
                rig.elect(other, 0, 0);
                rig.pass(HB / 4);
            }
        }
        for other in 1..options.quorum {
            let seq = rig.snapshot().seq;
            rig.heartbeat(other, seq, D);
        }
        assert_eq!(rig.snapshot().state, R, "{:?}", rig.snapshot());
        rig.events.clear();
        rig
    }

    /// Returns leader 0. Servers 1 to `ready` are READY too.
    pub(crate) fn leader_of(count: usize, ready: usize) -> Self {
        let mut rig = Self::leader(count);
        for other in 1..=ready {
            rig.make_ready(other);
        }
        rig.events.clear();
        rig
    }

    /// Makes a DOWN server READY.
    pub(crate) fn make_ready(&mut self, other: usize) {
        for says in [B, R] {
            let seq = self.snapshot().seq;
            self.heartbeat(other, seq, says);
            let number = self.snapshot().configuration;
            for part in 0..8 {
                self.receive_transferred(other, number.cast_signed(), part);
            }
        }
        assert_eq!(self.snapshot().states[other], R);
    }

    /// Returns server 1 of 3. It follows server 0 in configuration 9. All three are READY. Clients k1 to k`clients`
    /// have the sessions 2^20 + 1 and so on.
    pub(crate) fn follower(clients: u16) -> Self {
        Self::follower_with(clients, options())
    }

    pub(crate) fn follower_with(clients: u16, options: Options) -> Self {
        let mut rig = Self::start(3, 1, options, Durable::default());
        rig.state(3, 1, &[R, D, R], clients);
        rig.state(6, 1, &[R, B, R], clients);
        for other in [0, 2] {
            rig.transfer(other, 6, (0, 1), &[]);
        }
        for k in 1..=clients {
            rig.catalog(k, 6, (0, 1), 0, &[]);
        }
        assert_eq!(rig.snapshot().state, R);
        rig.state(9, 1, &[R; 3], clients);
        rig.events.clear();
        rig
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.server.snapshot(self.now.monotonic)
    }

    pub(crate) fn role(&self) -> RoleKind {
        self.server.role()
    }

    /// Returns the states of all servers as letters.
    pub(crate) fn states(&self) -> String {
        states(self.snapshot().states)
    }

    pub(crate) fn drop_count(&self, reason: DropReason) -> u64 {
        self.server.counters().drop_count(reason)
    }

    /// Gives the server an input, and returns its output as lines.
    pub(crate) fn input(&mut self, input: impl FnOnce(&mut Server, Now)) -> Vec<String> {
        input(&mut self.server, self.now);
        self.datagrams.clear();
        let mut lines = Vec::new();
        loop {
            while let Some(durable) = self.server.poll_durable() {
                let stored = if self.disk_full {
                    StoreOutcome::Failed
                } else {
                    self.durable = durable;
                    StoreOutcome::Done
                };
                self.server.handle_stored(self.now, stored);
            }
            let mut buf = vec![0xaa; crate::ftn::DATAGRAM_BYTES_MAX];
            let Some(transmit) = self.server.poll_transmit(&mut buf) else {
                break;
            };
            buf.truncate(transmit.len);
            let (whole, answer) = self.test_peer.receive(transmit.to, &buf);
            if let Some(answer) = answer.filter(|_| self.acknowledges_parts) {
                let (now, from) = (self.now, transmit.to);
                self.server
                    .handle_message(now, from, &answer, Duration::ZERO);
            }
            let Some(buf) = whole else {
                continue;
            };
            lines.push(show(&buf, transmit.to));
            if let (Ok(datagram), Some(k)) = (
                Datagram::decode(&buf),
                transmit.to.port().checked_sub(CLIENT_PORT),
            ) && let Message::Config { .. } = datagram.message()
                && datagram.header().to != 0
            {
                self.ids.insert(k, datagram.header().to);
            }
            self.datagrams.push((transmit.to, buf));
            self.server
                .handle_sent(self.now, transmit.ticket, SendOutcome::Accepted);
        }
        while let Some(event) = self.server.poll_event() {
            self.events.push(event);
        }
        lines
    }

    pub(crate) fn deliver_bytes(&mut self, from: SocketAddr, bytes: &[u8]) -> Vec<String> {
        self.input(|server, now| server.handle_message(now, from, bytes, Duration::ZERO))
    }

    fn header(&self, from: i32) -> Header {
        let servers = servers(self.snapshot().states.len());
        Header {
            from,
            to: i32::try_from(self.snapshot().index).unwrap(),
            ssig: servers.signature(),
        }
    }

    /// Delivers a message from another server.
    pub(crate) fn deliver(&mut self, from: usize, message: Message<'_>) -> Vec<String> {
        let bytes = encode(self.header(i32::try_from(from).unwrap()), message);
        self.deliver_bytes(server(from), &bytes)
    }

    /// Delivers a message from another server, with the options of that server.
    pub(crate) fn deliver_with(
        &mut self,
        from: usize,
        message: Message<'_>,
        terms: Terms,
    ) -> Vec<String> {
        let header = self.header(i32::try_from(from).unwrap());
        let datagram = Datagram::new(header, message).with_terms(terms);
        let mut bytes = vec![0xaa; datagram.encoded_len()];
        datagram.encode(&mut bytes).unwrap();
        self.deliver_bytes(server(from), &bytes)
    }

    /// Delivers a message of a client in its session.
    pub(crate) fn send(&mut self, k: u16, message: Message<'_>) -> Vec<String> {
        let id = self.id(k);
        self.send_as(k, id, message)
    }

    /// Delivers a message from a client's address with any id.
    pub(crate) fn send_as(&mut self, k: u16, id: i32, message: Message<'_>) -> Vec<String> {
        let bytes = encode(self.header(id), message);
        self.deliver_bytes(client(k), &bytes)
    }

    /// Returns the id that the server gave to a client's session. If the server gave the client no id, returns the id
    /// that [`state`](Self::state) uses.
    pub(crate) fn id(&self, k: u16) -> i32 {
        self.ids
            .get(&k)
            .copied()
            .unwrap_or((1 << 20) + i32::from(k))
    }

    /// Advances the time, and calls the server at each timeout.
    pub(crate) fn pass(&mut self, time: Duration) -> Vec<String> {
        let end = self.now.monotonic + time;
        let mut lines = Vec::new();
        for calls in 0.. {
            let due = self.server.poll_timeout().filter(|due| *due <= end);
            let Some(due) = due else { break };
            assert!(calls < 100_000, "timeouts are due without end");
            self.advance_to(due.max(self.now.monotonic));
            lines.extend(self.input(Machine::handle_timeout));
        }
        self.advance_to(end);
        lines
    }

    /// Advances the time without timeouts, as in a stalled process.
    pub(crate) fn stall(&mut self, time: Duration) {
        self.advance_to(self.now.monotonic + time);
    }

    fn advance_to(&mut self, to: Instant) {
        let by = to.since(self.now.monotonic);
        self.now.wall += u64::try_from(by.as_nanos()).unwrap();
        self.now.monotonic = to;
    }

    pub(crate) fn command(&mut self, command: Command) -> Vec<String> {
        self.input(|server, now| server.handle_command(now, command))
    }

    /// Delivers a STATE from the leader of a configuration.
    pub(crate) fn state(
        &mut self,
        c: u64,
        round: u32,
        states: &[ServerState],
        clients: u16,
    ) -> Vec<String> {
        self.state_of(c, round, states, 1..=clients)
    }

    pub(crate) fn state_of(
        &mut self,
        c: u64,
        round: u32,
        states: &[ServerState],
        clients: impl IntoIterator<Item = u16>,
    ) -> Vec<String> {
        let listed = self.list_clients(clients);
        let index = usize::try_from(c).unwrap() % states.len();
        with_state(c, round, states, &listed, |message| {
            self.deliver(index, message)
        })
    }

    /// Returns the ids and addresses of clients in the form of STATE.
    fn list_clients(&self, clients: impl IntoIterator<Item = u16>) -> Vec<(i32, String)> {
        let ids = clients.into_iter();
        ids.map(|k| (self.id(k), client(k).to_string())).collect()
    }

    /// Returns a long STATE as the datagrams of its parts.
    pub(crate) fn state_in_parts(
        &self,
        c: u64,
        round: u32,
        states: &[ServerState],
        clients: u16,
    ) -> Vec<Vec<u8>> {
        let index = i32::try_from(c % states.len() as u64).unwrap();
        let header = self.header(index);
        with_state(
            c,
            round,
            states,
            &self.list_clients(1..=clients),
            |message| pieces(header, message),
        )
    }

    /// Delivers all parts of a client's longest message except the last part.
    pub(crate) fn begin_long(&mut self, k: u16, number: i64) {
        let bytes = [7; crate::ftn::PART];
        let parts = 27;
        for part in 0..parts - 1 {
            let message = Message::Part {
                content: number,
                part,
                parts,
                bytes: &bytes,
            };
            self.send(k, message);
        }
    }

    pub(crate) fn elect(&mut self, from: usize, seq: i128, vote: i32) -> Vec<String> {
        self.deliver(from, Message::Elect { seq, leader: vote })
    }

    pub(crate) fn heartbeat(&mut self, from: usize, seq: i128, sstate: ServerState) -> Vec<String> {
        self.deliver(from, Message::Heartbeat { seq, sstate })
    }

    /// Delivers HEARTBEAT of the present round, with options.
    pub(crate) fn heartbeat_with(&mut self, from: usize, sstate: ServerState, terms: Terms) {
        let seq = self.snapshot().seq;
        self.deliver_with(from, Message::Heartbeat { seq, sstate }, terms);
    }

    /// Delivers a TRANSFER of free tokens with these names and data.
    pub(crate) fn transfer(
        &mut self,
        from: usize,
        msgnum: i64,
        (part, parts): (i32, i32),
        tokens: &[(&str, &str)],
    ) -> Vec<String> {
        let assignments: Vec<Assignment<'_>> = tokens
            .iter()
            .map(|(name, data)| Assignment {
                token: token(name, data),
                holders: Holders::Nobody,
            })
            .collect();
        let message = Message::Transfer {
            msgnum,
            part,
            parts,
            assignments: assignments[..].into(),
        };
        self.deliver(from, message)
    }

    pub(crate) fn receive_transferred(
        &mut self,
        from: usize,
        msgnum: i64,
        part: i32,
    ) -> Vec<String> {
        self.deliver(from, Message::Transferred { msgnum, part })
    }

    /// Delivers a client's answer to CONFIG(c): the client's tokens, the kind of each hold, and the data.
    pub(crate) fn catalog(
        &mut self,
        k: u16,
        c: u64,
        (part, parts): (u32, u32),
        floor: i64,
        holdings: &[(&str, HoldKind, &str)],
    ) -> Vec<String> {
        let marker = Marker {
            configuration: c,
            part,
            parts,
            floor,
        };
        let marker = marker.to_string();
        let mut entries = vec![token("", &marker)];
        for (name, holding, data) in holdings {
            entries.push(token("", holding.name()));
            entries.push(token(name, data));
        }
        self.send(
            k,
            Message::Catalog {
                holdings: entries[..].into(),
            },
        )
    }

    pub(crate) fn login(&mut self, k: u16) -> Vec<String> {
        let p = format!(":{}", client(k).port());
        self.send_as(k, 0, Message::Login { p: p.as_bytes() })
    }

    /// Begins a session of a client.
    pub(crate) fn begin(&mut self, k: u16) -> i32 {
        self.login(k);
        self.send(k, Message::Alive);
        self.id(k)
    }

    pub(crate) fn renew(&mut self, k: u16, msgnum: i64) -> Vec<String> {
        let c = self.snapshot().configuration.to_string();
        self.send(k, renewal(msgnum, &c))
    }

    pub(crate) fn request(
        &mut self,
        k: u16,
        msgnum: i64,
        name: &str,
        access: Access,
    ) -> Vec<String> {
        self.send(k, request(msgnum, name, access))
    }

    fn send_return(
        &mut self,
        k: u16,
        msgnum: i64,
        (name, data): (&str, &str),
        flags: Flags,
    ) -> Vec<String> {
        let token = token(name, data);
        self.send(
            k,
            Message::Return {
                msgnum,
                token,
                flags,
            },
        )
    }

    pub(crate) fn update(&mut self, k: u16, msgnum: i64, name: &str, data: &str) -> Vec<String> {
        self.send_return(k, msgnum, (name, data), Flags::Update)
    }

    pub(crate) fn deassign(&mut self, k: u16, msgnum: i64, name: &str) -> Vec<String> {
        self.send_return(k, msgnum, (name, ""), Flags::Deassign)
    }

    pub(crate) fn update_and_deassign(
        &mut self,
        k: u16,
        msgnum: i64,
        name: &str,
        data: &str,
    ) -> Vec<String> {
        self.send_return(k, msgnum, (name, data), Flags::Both)
    }

    /// Delivers a REQUEST of the empty name.
    fn send_empty_request(
        &mut self,
        k: u16,
        msgnum: i64,
        data: &[u8],
        access: Access,
    ) -> Vec<String> {
        let token = Token { name: b"", data };
        self.send(
            k,
            Message::Request {
                msgnum,
                token,
                access,
            },
        )
    }

    pub(crate) fn introduce(&mut self, k: u16, text: &str) -> Vec<String> {
        self.send_empty_request(k, 0, text.as_bytes(), Access::Exclusive)
    }

    /// Asks for the page of the listing that begins after a name.
    pub(crate) fn list(&mut self, k: u16, msgnum: i64, after: &[u8]) -> Vec<String> {
        self.send_empty_request(k, msgnum, after, Access::Shared)
    }
}

/// Calls `use_it` with a STATE that lists the sessions `listed`.
fn with_state<T>(
    c: u64,
    round: u32,
    states: &[ServerState],
    listed: &[(i32, String)],
    use_it: impl FnOnce(Message<'_>) -> T,
) -> T {
    let clients: Vec<ListedSession<'_>> = listed
        .iter()
        .map(|(id, address)| ListedSession {
            id: *id,
            address: address.as_bytes(),
        })
        .collect();
    use_it(Message::State {
        seq: seq(c, round),
        leader: i64::try_from(c).unwrap(),
        sstates: states.into(),
        clients: clients[..].into(),
    })
}

/// Returns the datagrams of a message in parts.
pub(crate) fn pieces(header: Header, message: Message<'_>) -> Vec<Vec<u8>> {
    let mut outgoing = PartSender::default();
    let bytes = encode(header, message);
    let now = Instant::default();
    let first = outgoing.send(now, server(0), message.kind(), &bytes)[0];
    let part = |part| outgoing.message(server(0), Part { part, ..first });
    (0..)
        .map_while(part)
        .map(|part| encode(header, part))
        .collect()
}

/// Returns the lines that begin with a word.
pub(crate) fn only(lines: &[String], word: &str) -> Vec<String> {
    let lines = lines.iter().filter(|line| line.starts_with(word));
    lines.cloned().collect()
}

pub(crate) const NONE: [&str; 0] = [];
