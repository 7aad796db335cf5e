//! The client's data, and how the driver's calls get to the rules.

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::mem;
use std::net::SocketAddr;
use std::time::Duration;

use super::login::{Choice, Login};
use super::logout::{Logout, Progress};
use super::msgnum::Numbers;
use super::outbox::{Context, Output};
use super::output::{Encoded, encode};
use super::phase::Phase;
use super::session::Session;
use super::{Command, Event, Loss, Net, Options};
use crate::ftn::MIN_CLIENT_TIMEOUT;
use crate::ftn::carrier::Carrier;
use crate::time::{Instant, Now};
use crate::{Machine, Sent, Stored, Ticket, Transmit};

/// How many senders with another list are told of.
const OTHER_LISTS: usize = 1_024;
/// How many ids of former sessions are remembered.
const FORMER: usize = 64;

/// A client of the token service. See [the contract](crate#contract) of its calls.
#[derive(Debug, Clone, Hash)]
pub struct Client {
    /// Its `client_timeout` is the shortest of this client's own and those that servers have announced since its LOGIN.
    pub(super) options: Options,
    /// This client's own.
    pub(super) own_timeout: Duration,
    /// The latest time that the machine was told.
    pub(super) now: Instant,
    net: Net,
    numbers: Numbers,
    pub(super) phase: Phase,
    /// The ids of the last sessions, which are never used again.
    pub(super) former: VecDeque<i32>,
    /// Servers that announce a client timeout with which no session lasts, by index.
    short_timeouts: BTreeSet<usize>,
    /// Who has another list.
    other_lists: BTreeSet<SocketAddr>,
    /// Messages in parts, which end with the session.
    pub(super) carried: Carrier,
    pub(super) out: Output,
}

impl Client {
    /// A client that has no socket yet.
    pub fn new(options: Options) -> Self {
        Self {
            own_timeout: options.client_timeout,
            options,
            now: Instant::default(),
            net: Net::Down,
            numbers: Numbers::new(),
            phase: Phase::NoSocket { former: None },
            former: VecDeque::new(),
            short_timeouts: BTreeSet::new(),
            other_lists: BTreeSet::new(),
            carried: Carrier::default(),
            out: Output::default(),
        }
    }

    /// What it was started with; the timeout is a shorter one if servers have announced that.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// The phase, and what its rules need besides.
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

    pub(super) fn tell(&mut self, event: Event) {
        self.out.events.push_back(event);
    }

    pub(super) fn note_other_list(&mut self, from: SocketAddr, ssig: i32) {
        if let Phase::Login(login) = &mut self.phase {
            login.note_other_list();
        }
        if self.other_lists.len() < OTHER_LISTS && self.other_lists.insert(from) {
            self.tell(Event::OtherList { from, ssig });
        }
    }

    /// What comes before every input: the clock, and whether the session has outlived its lease meanwhile.
    fn begin(&mut self, now: Now) {
        self.now = self.now.max(now.monotonic);
        self.numbers.start(now.wall);
        self.carried.outgoing.start(now.wall);
        let loss = match &self.phase {
            Phase::Session(session) => session.loss(self.now, &self.options),
            _ => None,
        };
        if let Some(loss) = loss {
            self.lose(loss);
            self.tell(Event::NewSocket);
        }
    }

    /// What comes after every input: what it has made possible is done at once.
    fn end(&mut self) {
        self.take_session();
        let (phase, mut context) = self.split();
        if let Phase::Session(session) = phase {
            session.act_at_once(&mut context);
        }
        self.end_input();
    }

    fn end_input(&self) {
        #[cfg(debug_assertions)]
        self.check_invariants();
    }

    /// Takes up a session that the servers' answers offer.
    fn take_session(&mut self) {
        let Phase::Login(login) = &self.phase else {
            return;
        };
        let Some(choice) = login.choice(self.now) else {
            return;
        };
        let Choice {
            session,
            configuration,
        } = choice;
        let leader = configuration.leader();
        let port = login.port;
        let begun = Session::new(self.now, session, port, configuration);
        self.phase = Phase::Session(Box::new(begun));
        self.tell(Event::Proving { session, leader });
    }

    /// The session is over, with all that it held and awaited.
    fn lose(&mut self, loss: Loss) {
        let Phase::Session(session) = &self.phase else {
            return;
        };
        let (id, port) = (session.id, session.port);
        self.forget(id);
        let servers = &self.options.servers;
        for server in (0..servers.len()).filter_map(|server| servers.address(server)) {
            self.carried.forget(server);
        }
        self.phase = Phase::NoSocket { former: Some(port) };
        self.tell(Event::Lost { session: id, loss });
    }

    /// An id that is not used again.
    fn forget(&mut self, session: i32) {
        if self.former.len() == FORMER {
            self.former.pop_front();
        }
        self.former.push_back(session);
    }

    /// Whether a server is not used, since a session there would end before its renewals are confirmed.
    pub(super) fn is_unusable(&self, server: usize) -> bool {
        self.short_timeouts.contains(&server)
    }

    /// A server announces after how many microseconds of silence it ends a session. One that cannot be outlasted makes the server
    /// unusable: it would stop this client if it counted, and end sessions that this client takes for live if it did not.
    pub(super) fn heed_timeout(&mut self, server: usize, micros: i64) {
        let timeout = u64::try_from(micros).map_or(Duration::ZERO, Duration::from_micros);
        if timeout < MIN_CLIENT_TIMEOUT {
            if self.short_timeouts.insert(server) {
                self.tell(Event::ShortTimeout { server, timeout });
            }
            return;
        }
        self.short_timeouts.remove(&server);
        self.shorten_timeout(timeout);
    }

    fn shorten_timeout(&mut self, announced: Duration) {
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
        self.options.client_timeout = self.own_timeout;
        let (phase, mut context) = self.split();
        *phase = Phase::Login(Login::begin(&mut context, port));
    }

    fn socket_is(&mut self, port: u16) {
        match &self.phase {
            Phase::NoSocket { former } if *former == Some(port) => self.tell(Event::NewSocket),
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
            Phase::NoSocket { .. } | Phase::Login(_) => {
                context.tell(Event::LoggedOut { confirmed: true });
                Phase::Ended
            }
            under_way @ (Phase::Logout(_) | Phase::Ended) => under_way,
        };
    }
}

impl Machine for Client {
    type Peer = SocketAddr;
    type Net = Net;
    type Command = Command;
    type Event = Event;
    type Durable = Infallible;
    type Job = Infallible;

    fn handle_message(&mut self, now: Now, from: SocketAddr, message: &[u8], _age: Duration) {
        if matches!(self.phase, Phase::Ended) {
            // Nothing is told after the end.
            return;
        }
        self.begin(now);
        self.receive(from, message);
        self.end();
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        self.begin(now);
        self.carry_out(command);
        self.end();
    }

    fn handle_link(&mut self, now: Now, net: Net) {
        self.begin(now);
        self.net = net;
        if let Net::Up { port } = net {
            self.socket_is(port);
        }
        self.end();
    }

    fn handle_timeout(&mut self, now: Now) {
        self.begin(now);
        self.take_session();
        let (phase, mut context) = self.split();
        let now = context.now;
        match phase {
            Phase::NoSocket { .. } | Phase::Ended => {}
            Phase::Login(login) => login.act(&mut context),
            Phase::Session(session) => session.act(&mut context, now),
            Phase::Logout(logout) => {
                if logout.act(&mut context) == Progress::Done {
                    *phase = Phase::Ended;
                }
            }
        }
        self.end_input();
    }

    fn handle_sent(&mut self, _now: Now, _ticket: Ticket, sent: Sent) {
        if sent != Sent::Accepted {
            self.tell(Event::SendFailed);
        }
    }

    /// Nothing is stored.
    fn handle_stored(&mut self, _now: Now, _stored: Stored) {}

    fn poll_durable(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<SocketAddr>> {
        if self.net == Net::Down {
            // It is repeated when there is a socket.
            self.out.outbox.clear();
            return None;
        }
        while let Some(outgoing) = self.out.outbox.pop_front() {
            let Some(to) = self.options.servers.address(outgoing.to) else {
                continue;
            };
            match encode(&self.options, &self.phase, &self.carried, outgoing, buf) {
                None => {}
                Some(Encoded::Long(kind, bytes)) => self.send_long(outgoing.to, to, kind, &bytes),
                Some(Encoded::Short(len)) => {
                    // A failed send is what a lost datagram is; nothing is known by its ticket.
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
