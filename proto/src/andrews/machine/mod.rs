//! The machine: it owns the parts, tells each what happens, and does what follows. Only here two parts meet.
//!
//! | file | holds |
//! |---|---|
//! | `datagrams`, `streams`, `connections`, `outbox` | what comes in and goes out |
//! | `looking`, `writing`, `outcomes` | the rows: read, decided on, written |
//! | `succession`, `recovery` | following the own row, and asking for another |
//! | `using`, `serving` | the token, and the requests that wait for it |
//! | `coordinating`, `electing` | what a coordinator does, and how it is elected |
//! | `leaving` | ending |
//! | `status`, `strangers` | what others see of the machine |
//! | `invariants` | what must always hold |

mod connections;
mod coordinating;
mod datagrams;
mod electing;
#[cfg(test)]
mod inside;
#[cfg(debug_assertions)]
mod invariants;
mod leaving;
mod looking;
mod outbox;
mod outcomes;
mod recovery;
mod serving;
mod status;
mod strangers;
mod streams;
mod succession;
mod using;
mod writing;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use crate::andrews::coordinator::Duties;
use crate::andrews::database::{Database, View, Watch};
use crate::andrews::diagnostics::Strangers;
use crate::andrews::election::{Elections, Victory};
use crate::andrews::message::Ballot;
use crate::andrews::ring::{Inbound, Proof, Role};
use crate::andrews::token::{Requests, Token};
use crate::andrews::{Command, DatabaseState, Event, Job, NodeList, Options, OptionsError, State};
use crate::draw::Draw;
use crate::time::{Instant, Now};
use crate::{JobOp, Machine, Sent, Stored, StreamEvent, StreamId, StreamOp, Ticket, Transmit};
use outbox::Output;

/// The sockets are bound: the node begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listening;

/// A node of a coordinated ring.
///
/// It begins when it is told that its sockets are [bound](Listening). Time-outs are to be told only after all that waits
/// in its sockets was.
#[derive(Debug)]
pub struct Andrews {
    options: Options,
    list: NodeList,
    draw: Draw,
    now: Instant,
    role: Role,
    inbound: Inbound,
    proof: Proof,
    database: Database,
    /// The rows as read last.
    view: Option<View>,
    watch: Watch,
    strangers: Strangers,
    /// While the row names this node.
    duties: Option<Duties>,
    token: Token,
    requests: Requests,
    elections: Elections,
    /// Messages of elections that wait for a successor.
    waiting: VecDeque<Ballot>,
    victory: Option<Victory>,
    out: Output,
    told: State,
    told_database: DatabaseState,
    /// The node is to end: a token that is here is passed on until then.
    leave_by: Option<Instant>,
    is_begun: bool,
    is_finished: bool,
}

impl Andrews {
    /// A node with no memory. `seed` is random, and other in each life.
    ///
    /// # Errors
    /// The options cannot work.
    pub fn new(options: Options, list: NodeList, seed: u64) -> Result<Self, OptionsError> {
        options.check(&list)?;
        Ok(Self {
            options,
            list,
            draw: Draw::new(seed),
            now: Instant::default(),
            role: Role::Starting(None),
            inbound: Inbound::default(),
            proof: Proof::default(),
            database: Database::default(),
            view: None,
            watch: Watch::default(),
            strangers: Strangers::default(),
            duties: None,
            token: Token::new(),
            requests: Requests::default(),
            elections: Elections::new(options.election),
            waiting: VecDeque::new(),
            victory: None,
            out: Output::new(options.id),
            told: State::Starting,
            told_database: DatabaseState::Up,
            leave_by: None,
            is_begun: false,
            is_finished: false,
        })
    }

    /// What the node was started with.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// The nodes that may be in the ring.
    pub const fn list(&self) -> &NodeList {
        &self.list
    }

    /// Whether it has ended: it says and takes nothing from then on.
    pub const fn is_finished(&self) -> bool {
        self.is_finished
    }

    const fn is_running(&self) -> bool {
        self.is_begun && !self.is_finished
    }

    /// Its time never goes back.
    fn advance_clock(&mut self, now: Now) {
        self.now = self.now.max(now.monotonic);
    }

    /// R, with the members as last read.
    fn silence(&self) -> Duration {
        let members = self.view.as_ref().map_or(0, View::len);
        self.options.silence(members)
    }

    fn enter(&mut self, role: Role) {
        self.role = role;
    }

    /// What follows from an input, whatever it was.
    fn settle(&mut self) {
        if self.is_running() {
            self.follow_row();
            self.start_as_new();
            self.use_token();
            self.use_database();
            self.leave_if_done();
        }
        let state = self.role.state();
        if std::mem::replace(&mut self.told, state) != state {
            self.out.event(Event::StateChanged { state });
        }
        #[cfg(debug_assertions)]
        self.check_invariants();
    }

    fn on_time(&mut self) {
        self.out.spread_on(&self.list);
        self.on_database_due();
        self.on_connections_due();
        self.on_link_due();
        self.on_plea_due();
        self.on_pass_due();
        self.on_election_due();
        self.on_requests_due();
    }

    fn due(&self) -> Option<Instant> {
        if !self.is_running() {
            return None;
        }
        let options = &self.options;
        [
            self.out.is_spreading().then_some(self.now),
            self.database.due(options.database_timeout),
            self.connections_due(),
            self.link_due(),
            self.plea_due(),
            self.token.due(self.now),
            self.write_due(),
            self.elections.timeout(),
            self.requests.due(),
            self.leave_by,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

impl Machine for Andrews {
    type Peer = SocketAddr;
    type Net = Listening;
    type Command = Command;
    type Event = Event;
    type Durable = Infallible;
    type Job = Job;

    fn handle_message(&mut self, now: Now, from: SocketAddr, message: &[u8], _age: Duration) {
        self.advance_clock(now);
        if self.is_running() {
            self.on_datagram(from.ip(), message);
        }
        self.settle();
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        self.advance_clock(now);
        match command {
            _ if self.is_finished => {}
            Command::Done { job, outcome } => self.on_outcome(job, outcome),
            Command::Request(request) => self.on_request(request),
            Command::Listeners(has_any) => self.requests.set_listeners(has_any),
            Command::ShutDown => self.shut_down(),
        }
        self.settle();
    }

    fn handle_link(&mut self, now: Now, _: Listening) {
        self.advance_clock(now);
        if !self.is_begun {
            self.is_begun = true;
            self.database.begin(self.now);
            self.on_database_due();
        }
        self.settle();
    }

    fn handle_timeout(&mut self, now: Now) {
        self.advance_clock(now);
        if self.is_running() {
            self.on_time();
        }
        self.settle();
    }

    fn handle_sent(&mut self, now: Now, _: Ticket, _: Sent) {
        // A datagram that was refused is one that got lost.
        self.advance_clock(now);
    }

    fn handle_stream(
        &mut self,
        now: Now,
        id: StreamId,
        event: StreamEvent<'_, SocketAddr>,
    ) -> usize {
        self.advance_clock(now);
        let used = if self.is_finished {
            0
        } else {
            self.on_stream(id, event)
        };
        self.settle();
        used
    }

    fn handle_stored(&mut self, now: Now, _: Stored) {
        self.advance_clock(now);
    }

    fn poll_durable(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<SocketAddr>> {
        let (to, len) = self.out.fetch(buf)?;
        Some(Transmit {
            len,
            to,
            ticket: Ticket::new(0),
        })
    }

    fn poll_stream(&mut self, vacant: Option<StreamId>) -> Option<StreamOp<SocketAddr>> {
        if let Some(operation) = self.out.operations.pop_front() {
            return Some(operation);
        }
        self.open(vacant)
    }

    fn poll_write(&mut self, id: StreamId, room: &mut [u8]) -> usize {
        self.peer_mut(id).map_or(0, |(_, peer)| peer.write(room))
    }

    fn poll_job(&mut self) -> Option<JobOp<Job>> {
        self.database.next_job().map(JobOp::Start)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.out.next_event()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due()
    }
}
