//! The client's data. This module passes the driver's calls to the rules.

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::mem;
use std::net::SocketAddr;
use std::time::Duration;

use super::login::{Login, OfferedSession};
use super::logout::{Logout, Progress};
use super::msgnum::MessageNumbers;
use super::outbox::{Context, Output};
use super::output::{Encoded, encode};
use super::phase::Phase;
use super::session::Session;
use super::{Command, Event, Loss, Options, SocketState};
use crate::ftn::CLIENT_TIMEOUT_MIN;
use crate::ftn::carrier::Carrier;
use crate::time::{Instant, Now};
use crate::{Machine, SendOutcome, StoreOutcome, Ticket, Transmit};

/// For at most this many senders, the client reports a different list of servers.
const OTHER_LIST_SENDERS_MAX: usize = 1_024;
/// Number of earlier sessions whose ids the client remembers.
const FORMER_SESSIONS_MAX: usize = 64;

/// A client of the token service. See [the contract](crate#contract) for the order of calls.
#[derive(Debug, Clone, Hash)]
pub struct Client {
    /// `client_timeout` is the shortest of these timeouts: the client's option, and the timeouts that servers have
    /// announced since LOGIN.
    pub(super) options: Options,
    /// The client's `client_timeout` option.
    pub(super) configured_timeout: Duration,
    /// Latest time of an input.
    pub(super) now: Instant,
    net: SocketState,
    numbers: MessageNumbers,
    pub(super) phase: Phase,
    /// Ids of the last sessions. The client never uses these ids again.
    pub(super) former_sessions: VecDeque<i32>,
    /// Indexes of the servers whose client timeout is too short for a session.
    short_timeouts: BTreeSet<usize>,
    /// Senders that have a different list of servers.
    other_list_senders: BTreeSet<SocketAddr>,
    /// Messages in parts of the present session.
    pub(super) carrier: Carrier,
    pub(super) out: Output,
}

impl Client {
    /// Returns a client without a socket.
    pub fn new(options: Options) -> Self {
        Self {
            configured_timeout: options.client_timeout,
            options,
            now: Instant::default(),
            net: SocketState::Down,
            numbers: MessageNumbers::new(),
            phase: Phase::NoSocket { former_port: None },
            former_sessions: VecDeque::new(),
            short_timeouts: BTreeSet::new(),
            other_list_senders: BTreeSet::new(),
            carrier: Carrier::default(),
            out: Output::default(),
        }
    }

    /// Returns the client's options. If a server announced a shorter timeout, `client_timeout` has this shorter value.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the phase, and the context that the methods of the phase need.
    pub(super) const fn split(&mut self) -> (&mut Phase, Context<'_>) {
        let Self {
            options,
            now,
            numbers,
            phase,
            out,
            ..
        } = self;
        (phase, Context::new(*now, options, numbers, out))
    }

    pub(super) fn report(&mut self, event: Event) {
        self.out.events.push_back(event);
    }

    pub(super) fn report_other_list(&mut self, from: SocketAddr, ssig: i32) {
        if let Phase::Login(login) = &mut self.phase {
            login.set_other_list();
        }
        // The number of senders is bounded, because a sender can forge any address.
        if self.other_list_senders.len() < OTHER_LIST_SENDERS_MAX
            && self.other_list_senders.insert(from)
        {
            self.report(Event::OtherList { from, ssig });
        }
    }

    // The lease is checked before each input, because the process may have been stalled since the last input.
    fn begin_input(&mut self, now: Now) {
        // A lease that has ended must not come back with an earlier time.
        self.now = self.now.max(now.monotonic);
        self.numbers.start(now.wall);
        self.carrier.outgoing.start(now.wall);
        let loss = match &self.phase {
            Phase::Session(session) => session.find_loss(self.now, &self.options),
            _ => None,
        };
        if let Some(loss) = loss {
            self.lose(loss);
            self.report(Event::NewSocket);
        }
    }

    /// Starts a session if the servers offer one, and sends the messages that the input caused.
    fn finish_input(&mut self) {
        self.start_offered_session();
        let (phase, mut context) = self.split();
        if let Phase::Session(session) = phase {
            session.send_new(&mut context);
        }
        self.check_after_input();
    }

    fn check_after_input(&self) {
        self.check_invariants();
    }

    /// Starts a session if the servers' answers offer a session.
    fn start_offered_session(&mut self) {
        let Phase::Login(login) = &self.phase else {
            return;
        };
        let Some(offered) = login.offered_session(self.now) else {
            return;
        };
        let OfferedSession {
            session,
            configuration,
        } = offered;
        let leader = configuration.leader();
        let port = login.port;
        let begun = Session::new(self.now, session, port, configuration);
        self.phase = Phase::Session(Box::new(begun));
        self.report(Event::Proving { session, leader });
    }

    fn lose(&mut self, loss: Loss) {
        let Phase::Session(session) = &self.phase else {
            return;
        };
        let (id, port) = (session.id, session.port);
        self.retire_id(id);
        let servers = &self.options.servers;
        for server in (0..servers.len()).filter_map(|server| servers.address(server)) {
            // Parts end with their session, because the next session has another id.
            self.carrier.forget(server);
        }
        self.phase = Phase::NoSocket {
            former_port: Some(port),
        };
        self.report(Event::Lost { session: id, loss });
    }

    fn retire_id(&mut self, session: i32) {
        // A late CONFIG with an old id must not begin a session that no server knows.
        if self.former_sessions.len() == FORMER_SESSIONS_MAX {
            self.former_sessions.pop_front();
        }
        self.former_sessions.push_back(session);
    }

    /// Whether the client avoids a server because this server would end sessions before it confirms their renewals.
    pub(super) fn is_unusable(&self, server: usize) -> bool {
        self.short_timeouts.contains(&server)
    }

    // If such a short timeout counted, it would stop this client. If it did not count, the server would end sessions
    // that this client considers live. So the client does not use the server at all.
    pub(super) fn on_announced_timeout(&mut self, server: usize, micros: i64) {
        let timeout = u64::try_from(micros).map_or(Duration::ZERO, Duration::from_micros);
        if timeout < CLIENT_TIMEOUT_MIN {
            if self.short_timeouts.insert(server) {
                self.report(Event::ShortTimeout { server, timeout });
            }
            return;
        }
        self.short_timeouts.remove(&server);
        self.shorten_timeout(timeout);
    }

    fn shorten_timeout(&mut self, announced: Duration) {
        // A longer timeout of one server does not help, because another server may lead next.
        if announced >= self.options.client_timeout {
            return;
        }
        let before = self.options.lease();
        self.options.client_timeout = announced;
        let shorter = before.saturating_sub(self.options.lease());
        if let Phase::Session(session) = &mut self.phase {
            session.renewal.shorten(shorter);
        }
    }

    fn log_in(&mut self, port: u16) {
        // Announcements count for one session: the servers may have been restarted with other options.
        self.options.client_timeout = self.configured_timeout;
        let (phase, mut context) = self.split();
        *phase = Phase::Login(Login::begin(&mut context, port));
    }

    fn on_socket(&mut self, port: u16) {
        match &self.phase {
            // With the old port, servers would mistake the client for its former session.
            Phase::NoSocket { former_port } if *former_port == Some(port) => {
                self.report(Event::NewSocket);
            }
            Phase::NoSocket { .. } => self.log_in(port),
            Phase::Login(login) if login.port != port => self.log_in(port),
            Phase::Session(session) if session.port != port => {
                self.lose(Loss::SocketChanged);
                self.log_in(port);
            }
            Phase::Login(_) | Phase::Session(_) | Phase::Logout(_) | Phase::Ended => {}
        }
    }

    pub(super) fn log_out(&mut self) {
        let (phase, mut context) = self.split();
        *phase = match mem::replace(phase, Phase::Ended) {
            Phase::Session(session) => {
                let Session {
                    id, configuration, ..
                } = *session;
                Phase::Logout(Logout::begin(&mut context, id, configuration))
            }
            // No server knows a session of this client, so there is nothing to confirm.
            Phase::NoSocket { .. } | Phase::Login(_) => {
                context.report(Event::LoggedOut { confirmed: true });
                Phase::Ended
            }
            under_way @ (Phase::Logout(_) | Phase::Ended) => under_way,
        };
    }
}

impl Machine for Client {
    type Peer = SocketAddr;
    type Net = SocketState;
    type Command = Command;
    type Event = Event;
    type Durable = Infallible;
    type Job = Infallible;

    fn handle_message(&mut self, now: Now, from: SocketAddr, message: &[u8], _age: Duration) {
        if matches!(self.phase, Phase::Ended) {
            // `LoggedOut` is the last event of a client.
            return;
        }
        self.begin_input(now);
        self.receive(from, message);
        self.finish_input();
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        self.begin_input(now);
        self.apply_command(command);
        self.finish_input();
    }

    fn handle_link(&mut self, now: Now, net: SocketState) {
        self.begin_input(now);
        self.net = net;
        if let SocketState::Up { port } = net {
            self.on_socket(port);
        }
        self.finish_input();
    }

    fn handle_timeout(&mut self, now: Now) {
        self.begin_input(now);
        self.start_offered_session();
        let (phase, mut context) = self.split();
        let now = context.now;
        match phase {
            Phase::NoSocket { .. } | Phase::Ended => {}
            Phase::Login(login) => login.on_timeout(&mut context),
            Phase::Session(session) => session.send_due(&mut context, now),
            Phase::Logout(logout) => {
                if logout.on_timeout(&mut context) == Progress::Done {
                    *phase = Phase::Ended;
                }
            }
        }
        self.check_after_input();
    }

    fn handle_sent(&mut self, _now: Now, _ticket: Ticket, sent: SendOutcome) {
        if sent != SendOutcome::Accepted {
            self.report(Event::SendFailed);
        }
    }

    fn handle_stored(&mut self, _now: Now, _stored: StoreOutcome) {}

    fn poll_durable(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<SocketAddr>> {
        if self.net == SocketState::Down {
            // The rules that queued these messages repeat them when there is a socket.
            self.out.outbox.clear();
            return None;
        }
        while let Some(outgoing) = self.out.outbox.pop_front() {
            let Some(to) = self.options.servers.address(outgoing.to) else {
                continue;
            };
            match encode(&self.options, &self.phase, &self.carrier, outgoing, buf) {
                None => {}
                Some(Encoded::Long(kind, bytes)) => self.send_long(outgoing.to, to, kind, &bytes),
                Some(Encoded::Short(len)) => {
                    // A failed send needs no action: the datagram is repeated as if it had been lost.
                    let ticket = Ticket::new(0);
                    return Some(Transmit { len, to, ticket });
                }
            }
        }
        None
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.out.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.phase.due(&self.options)
    }
}
