//! One client, and three servers whose messages the test writes. Datagrams go in and come out encoded, and the test
//! reads output as lines of text. In the text, the first message of the test has the number `#0`.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

pub(crate) use ring_codec::ftn::Access::{self, Exclusive, Shared};
pub(crate) use ring_codec::ftn::ServerState::{self, Booting, Down, Ready};
pub(crate) use ring_codec::ftn::{Datagram, Flags, Header, Message, Terms, Token};

use crate::ftn::carrier::test_peer::TestPeer;
use crate::ftn::catalog::{HoldKind, Marker};
pub(crate) use crate::ftn::client::{
    Client, ClientState, Command, DropReason, Event, Loss, Options, SocketState,
};
use crate::ftn::{Configuration, DATAGRAM_BYTES_MAX, Servers};
use crate::time::{Instant, Now};
use crate::{Machine, SendOutcome};

/// CT.
pub(crate) const CT: Duration = Duration::from_secs(15);
pub(crate) const LEASE: Duration = Duration::from_millis(11_250);
/// Id of the session, given by the servers.
pub(crate) const ME: i32 = 2_000_000;
/// Configuration in which the session begins. Server 1 leads.
pub(crate) const C: i64 = 7;
/// All three servers serve.
pub(crate) const ALL: [ServerState; 3] = [Ready; 3];
/// Wall clock at the start, in nanoseconds.
pub(crate) const WALL: u64 = 1_800_000_000_000_000_000;

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn servers() -> Servers {
    let lines = ["a:7000", "b:7001", "c:7002"];
    Servers::new((0..3).map(|at| (lines[at], address(at)))).unwrap()
}

pub(crate) fn address(server: usize) -> SocketAddr {
    let server = u8::try_from(server).unwrap();
    SocketAddr::from(([192, 0, 2, server], 7_000 + u16::from(server)))
}

/// Returns the `nth` name for which this server is responsible while all servers are READY.
pub(crate) fn name_of(server: usize, nth: usize) -> String {
    let all = Configuration::new(0, ALL);
    let names = (0..).map(|at| format!("t{at}"));
    let mut its = names.filter(|name| servers().responsible(name.as_bytes(), &all) == Some(server));
    its.nth(nth).unwrap()
}

pub(crate) struct Rig {
    pub client: Client,
    pub now: Now,
    pub events: Vec<Event>,
    /// Datagrams that the client sent after the last input.
    pub datagrams: Vec<Vec<u8>>,
    /// Whether the socket refuses all datagrams.
    pub refuse: bool,
    /// Assembles messages that the client sends in parts.
    test_peer: TestPeer,
}

impl Rig {
    /// Returns a client without a socket.
    pub(crate) fn new() -> Self {
        let options = Options {
            servers: servers(),
            client_timeout: CT,
            introduction: String::new(),
        };
        Self {
            client: Client::new(options),
            now: Now {
                monotonic: Instant::from_nanos(5_000_000_000),
                wall: WALL,
            },
            events: Vec::new(),
            datagrams: Vec::new(),
            refuse: false,
            test_peer: TestPeer::default(),
        }
    }

    /// Returns a client after its first LOGIN.
    pub(crate) fn login() -> Self {
        let mut rig = Self::new();
        rig.up(4000);
        rig
    }

    /// Returns a client after its first renewal, #0.
    pub(crate) fn proving() -> Self {
        let mut rig = Self::login();
        rig.config_to(0, 0, C, ALL);
        rig.config_to(2, 0, C, ALL);
        let said = rig.config_to(1, ME, C, ALL);
        assert_eq!(said, ["ALIVE > 1", "RENEWAL 7 #0 > 1"]);
        rig
    }

    /// Returns a client with a live session.
    pub(crate) fn live() -> Self {
        let mut rig = Self::proving();
        assert!(rig.confirm(1, 0).is_empty());
        assert!(matches!(
            rig.events.last(),
            Some(Event::Live { session: ME })
        ));
        rig.events.clear();
        rig
    }

    /// Returns a client that holds a token after its first REQUEST, #1.
    pub(crate) fn holding(name: &str, access: Access, data: &str) -> Self {
        let mut rig = Self::live();
        rig.request(name, access);
        let server = rig.server_of(name);
        rig.grant(server, 1, name, data);
        assert!(rig.holds(name));
        rig.events.clear();
        rig
    }

    pub(crate) fn server_of(&self, name: &str) -> usize {
        let configuration = self.client.configuration().unwrap();
        servers()
            .responsible(name.as_bytes(), configuration)
            .unwrap()
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        let lease = self.client.lease();
        let is_over = lease.is_none_or(|lease| lease <= self.now.monotonic);
        !is_over && self.client.held_token(name.as_bytes()).is_some()
    }

    pub(crate) fn data(&self, name: &str) -> String {
        let holding = self.client.held_token(name.as_bytes()).unwrap();
        String::from_utf8(holding.data.to_vec()).unwrap()
    }

    // Commands of the program.

    pub(crate) fn up(&mut self, port: u16) -> Vec<String> {
        self.link(SocketState::Up { port })
    }

    pub(crate) fn link(&mut self, net: SocketState) -> Vec<String> {
        self.input(|client, now| client.handle_link(now, net))
    }

    pub(crate) fn command(&mut self, command: Command) -> Vec<String> {
        self.input(|client, now| client.handle_command(now, command))
    }

    pub(crate) fn request(&mut self, name: &str, access: Access) -> Vec<String> {
        let name = name.as_bytes().into();
        self.command(Command::Request {
            name,
            access,
            fence: false,
        })
    }

    pub(crate) fn update(&mut self, name: &str, data: &str) -> Vec<String> {
        let (name, data) = (name.as_bytes().into(), data.as_bytes().into());
        self.command(Command::Update { name, data })
    }

    pub(crate) fn release(&mut self, name: &str) -> Vec<String> {
        let name = name.as_bytes().into();
        self.command(Command::Release { name })
    }

    pub(crate) fn cancel(&mut self, name: &str) -> Vec<String> {
        let name = name.as_bytes().into();
        self.command(Command::Cancel { name })
    }

    // Messages of the servers.

    pub(crate) fn deliver(&mut self, from: usize, to: i32, message: Message<'_>) -> Vec<String> {
        self.deliver_from(address(from), from, to, message)
    }

    pub(crate) fn deliver_from(
        &mut self,
        address: SocketAddr,
        from: usize,
        to: i32,
        message: Message<'_>,
    ) -> Vec<String> {
        let header = header(from, to);
        self.deliver_bytes(address, &encode(header, message))
    }

    pub(crate) fn deliver_bytes(&mut self, from: SocketAddr, bytes: &[u8]) -> Vec<String> {
        self.input(|client, now| client.handle_message(now, from, bytes, Duration::ZERO))
    }

    /// Delivers CONFIG to the session.
    pub(crate) fn config(&mut self, from: usize, c: i64, states: [ServerState; 3]) -> Vec<String> {
        self.config_to(from, ME, c, states)
    }

    pub(crate) fn config_to(
        &mut self,
        from: usize,
        to: i32,
        c: i64,
        states: [ServerState; 3],
    ) -> Vec<String> {
        let message = Message::Config {
            leader: c,
            sstates: states[..].into(),
        };
        self.deliver(from, to, message)
    }

    /// Delivers a CONFIG that announces a client timeout of `timeout_ms` milliseconds.
    pub(crate) fn config_with(
        &mut self,
        from: usize,
        to: i32,
        c: i64,
        states: [ServerState; 3],
        timeout_ms: i64,
    ) -> Vec<String> {
        let header = header(from, to);
        let message = Message::Config {
            leader: c,
            sstates: states[..].into(),
        };
        let terms = Terms {
            client_timeout: timeout_ms * 1_000,
            quorum: 2,
            pace: None,
        };
        let datagram = Datagram::new(header, message).with_terms(terms);
        let mut bytes = vec![0; datagram.encoded_len()];
        datagram.encode(&mut bytes).unwrap();
        self.deliver_bytes(address(from), &bytes)
    }

    pub(crate) fn grant(
        &mut self,
        from: usize,
        number: i64,
        name: &str,
        data: &str,
    ) -> Vec<String> {
        let token = Token {
            name: name.as_bytes(),
            data: data.as_bytes(),
        };
        let msgnum = base() + number;
        self.deliver(from, ME, Message::Grant { msgnum, token })
    }

    pub(crate) fn revoke(&mut self, from: usize, name: &str) -> Vec<String> {
        let name = name.as_bytes();
        self.deliver(from, ME, Message::Revoke { name })
    }

    pub(crate) fn confirm(&mut self, from: usize, number: i64) -> Vec<String> {
        let msgnum = base() + number;
        self.deliver(from, ME, Message::Confirm { msgnum })
    }

    // Results.

    /// Returns the reasons of dropped datagrams since the last call.
    pub(crate) fn take_drops(&mut self) -> Vec<DropReason> {
        let (dropped, others) = std::mem::take(&mut self.events)
            .into_iter()
            .partition::<Vec<_>, _>(|event| matches!(event, Event::Dropped { .. }));
        self.events = others;
        let reason = |event| match event {
            Event::Dropped { reason, .. } => reason,
            other => panic!("{other:?}"),
        };
        dropped.into_iter().map(reason).collect()
    }

    /// Returns the events since the last call, as text.
    pub(crate) fn take_events(&mut self) -> Vec<String> {
        self.events
            .drain(..)
            .map(|event| event_text(&event))
            .collect()
    }

    /// Advances the time from deadline to deadline, and returns the lines of output.
    pub(crate) fn pass(&mut self, time: Duration) -> Vec<String> {
        let timed = self.timeline(time);
        timed.into_iter().map(|(_, line)| line).collect()
    }

    /// Lets time pass. Returns each line of output with the milliseconds since the call.
    pub(crate) fn timeline(&mut self, time: Duration) -> Vec<(u128, String)> {
        let start = self.now.monotonic;
        let end = start + time;
        let mut said = Vec::new();
        let mut turns = 0;
        while let Some(due) = self.client.poll_timeout().filter(|&due| due <= end) {
            turns += 1;
            assert!(turns < 100_000, "timeouts are due without end");
            self.sleep_until(due);
            let at = self.now.monotonic.since(start).as_millis();
            said.extend(self.fire_timeout().into_iter().map(|line| (at, line)));
        }
        self.sleep_until(end);
        said
    }

    /// Lets time pass. For each line of output with this prefix, returns the milliseconds since the call.
    pub(crate) fn times(&mut self, time: Duration, prefix: &str) -> Vec<u128> {
        let timed = self.timeline(time).into_iter();
        let such = timed.filter(|(_, line)| line.starts_with(prefix));
        such.map(|(at, _)| at).collect()
    }

    /// Advances the time without inputs, as in a stalled process.
    pub(crate) fn sleep(&mut self, time: Duration) {
        self.sleep_until(self.now.monotonic + time);
    }

    fn sleep_until(&mut self, to: Instant) {
        self.now.monotonic = self.now.monotonic.max(to);
    }

    pub(crate) fn fire_timeout(&mut self) -> Vec<String> {
        self.input(Client::handle_timeout)
    }

    /// Confirms each renewal, so the session stays live, and returns all other lines of output.
    pub(crate) fn stay_live(&mut self, time: Duration) -> Vec<String> {
        let mut said = Vec::new();
        let end = self.now.monotonic + time;
        while let Some(due) = self.client.poll_timeout().filter(|&due| due <= end) {
            self.sleep_until(due);
            for line in self.fire_timeout() {
                if let Some(number) = renewal(&line) {
                    let leader = self.client.configuration().unwrap().leader();
                    self.confirm(leader, number);
                } else if !line.starts_with("ALIVE") {
                    said.push(line);
                }
            }
        }
        self.sleep_until(end);
        said
    }

    fn input(&mut self, input: impl FnOnce(&mut Client, Now)) -> Vec<String> {
        input(&mut self.client, self.now);
        let mut said = Vec::new();
        self.datagrams.clear();
        let mut buf = vec![0xaa; DATAGRAM_BYTES_MAX];
        while let Some(transmit) = self.client.poll_transmit(&mut buf) {
            let (whole, answer) = self.test_peer.receive(transmit.to, &buf[..transmit.len]);
            if let Some(answer) = answer {
                let (now, from) = (self.now, transmit.to);
                self.client
                    .handle_message(now, from, &answer, Duration::ZERO);
            }
            let Some(bytes) = whole else {
                continue;
            };
            let line = line(&bytes);
            let to: usize = line.rsplit(' ').next().unwrap().parse().unwrap();
            assert_eq!(transmit.to, address(to), "{line}");
            let sent = if self.refuse {
                SendOutcome::Failed
            } else {
                said.push(line);
                self.datagrams.push(bytes);
                SendOutcome::Accepted
            };
            self.client.handle_sent(self.now, transmit.ticket, sent);
        }
        while let Some(event) = self.client.poll_event() {
            self.events.push(event);
        }
        said
    }
}

/// Returns the head of a server's datagram.
fn header(from: usize, to: i32) -> Header {
    Header {
        from: i32::try_from(from).unwrap(),
        to,
        ssig: servers().signature(),
    }
}

/// Returns the number of the first message.
pub(crate) const fn base() -> i64 {
    1_800_000_000_000_000
}

pub(crate) fn encode(header: Header, message: Message<'_>) -> Vec<u8> {
    let datagram = Datagram::new(header, message);
    let mut bytes = vec![0; datagram.encoded_len()];
    datagram.encode(&mut bytes).unwrap();
    bytes
}

/// Returns the number of a renewal.
pub(crate) fn renewal(line: &str) -> Option<i64> {
    let rest = line.strip_prefix("RENEWAL ")?;
    let number = rest.split('#').nth(1)?.split(' ').next()?;
    Some(number.parse().unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns a datagram of the client as text. The receiving server stands at the end.
pub(crate) fn line(bytes: &[u8]) -> String {
    let datagram = Datagram::decode(bytes).unwrap();
    let Header { from, to, ssig } = datagram.header();
    assert_eq!(ssig, servers().signature());
    let number = |msgnum: i64| msgnum - base();
    let says = match datagram.message() {
        Message::Login { p } => {
            assert_eq!(from, 0);
            format!("LOGIN {}", text(p))
        }
        Message::Alive => "ALIVE".into(),
        Message::Logout => "LOGOUT".into(),
        Message::Request {
            msgnum,
            token: Token { name: b"", data },
            access,
        } => {
            if access == Exclusive {
                assert_eq!(msgnum, 0);
                format!("INTRODUCTION '{}'", text(data))
            } else {
                format!("LIST '{}' #{}", text(data), number(msgnum))
            }
        }
        Message::Request {
            msgnum,
            token,
            access,
        } => {
            let kind = match access {
                Shared => "s",
                Exclusive => "x",
            };
            let data = text(token.data);
            let name = text(token.name);
            format!("REQUEST {kind}{data} {name} #{}", number(msgnum))
        }
        Message::Return {
            msgnum,
            token: Token { name: b"", data },
            flags,
        } => {
            assert_eq!(flags, Flags::Deassign);
            format!("RENEWAL {} #{}", text(data), number(msgnum))
        }
        Message::Return {
            msgnum,
            token,
            flags,
        } => {
            let (name, data) = (text(token.name), text(token.data));
            let flags = match flags {
                Flags::Update => "UPDATE",
                Flags::Deassign => "DEASSIGN",
                Flags::Both => "BOTH",
            };
            let data = if data.is_empty() {
                data
            } else {
                format!("={data}")
            };
            format!("RETURN {flags} {name}{data} #{}", number(msgnum))
        }
        Message::Catalog { holdings } => catalog(holdings.iter()),
        other => panic!("a client does not send {other:?}"),
    };
    format!("{says} > {to}")
}

fn catalog<'a>(mut entries: impl Iterator<Item = Token<'a>>) -> String {
    let first = entries.next().unwrap();
    assert!(first.name.is_empty());
    let marker = Marker::parse(first.data).unwrap();
    let mut kind = None;
    let mut listed = String::new();
    for Token { name, data } in entries {
        if name.is_empty() {
            kind = Some(HoldKind::parse(data).unwrap());
        } else {
            let (kind, name, data) = (kind.unwrap(), text(name), text(data));
            let _ = write!(listed, " {kind} {name}={data}");
        }
    }
    let Marker {
        configuration,
        part,
        parts,
        floor,
    } = marker;
    let floor = floor - base();
    format!("CATALOG {configuration} {part}/{parts} #{floor}{listed}")
}

fn event_text(event: &Event) -> String {
    match event {
        Event::Granted {
            name, fence, data, ..
        } => {
            let fence = fence.map_or(String::new(), |fence| format!(" fence {fence}"));
            format!("granted {}={}{fence}", text(name), text(data))
        }
        Event::Revoked { name } => format!("revoked {}", text(name)),
        Event::UpgradeRevoked { name } => format!("upgrade revoked {}", text(name)),
        Event::Updated { name } => format!("updated {}", text(name)),
        Event::Returned { name } => format!("returned {}", text(name)),
        Event::Cancelled { name } => format!("cancelled {}", text(name)),
        Event::Declined { name } => format!("declined {}", text(name)),
        Event::Refused { name, refusal } => format!("refused {}: {refusal:?}", text(name)),
        Event::Lost { session, loss } => {
            assert_eq!(*session, ME);
            match loss {
                Loss::LeaseOver => "lost: lease over".into(),
                Loss::NotProven => "lost: not proven".into(),
                Loss::SocketChanged => "lost: socket changed".into(),
            }
        }
        Event::Live { .. } => "live".into(),
        Event::ShortTimeout { server, timeout } => {
            format!("server {server} ends sessions after {timeout:?}")
        }
        Event::Proving { leader, .. } => format!("proving at {leader}"),
        Event::Adopted { configuration } => format!("adopted {}", configuration.number()),
        Event::NewSocket => "new socket".into(),
        Event::LoginFailed { failure: trouble } => format!("login failed: {trouble:?}"),
        Event::LoggedOut { confirmed } => format!("logged out: {confirmed}"),
        Event::Listed { server, page } => format!("listed {server}: {}", text(page)),
        Event::ListingFailed { server } => format!("listing failed {server}"),
        Event::OtherList { ssig, .. } => format!("other list {ssig}"),
        Event::Dropped { reason, .. } => format!("dropped: {}", reason.key()),
        Event::SendFailed => "send failed".into(),
    }
}
