//! The state machine. The state machine owns its parts, and passes each input to the parts that need the input. The
//! parts do not use one another. Start reading at `settle`, which runs after every input.
//!
//! | file | holds |
//! |---|---|
//! | `datagrams`, `streams`, `connections`, `outbox` | messages that arrive and leave |
//! | `looks`, `writes`, `outcomes` | the rows: reading, deciding, writing |
//! | `successor`, `recovery` | following the node's row, and asking for another successor |
//! | `token`, `requests` | the token, and the requests that wait for it |
//! | `coordinator`, `elections` | the work of the coordinator, and its election |
//! | `shutdown` | the end of a node |
//! | `status`, `unlisted_nodes` | values that people read |
//! | `invariants` | conditions that hold after every input |

mod connections;
mod coordinator;
mod datagrams;
mod elections;
mod invariants;
mod looks;
mod outbox;
mod outcomes;
mod recovery;
mod requests;
mod shutdown;
mod status;
mod streams;
mod successor;
#[cfg(test)]
mod test_access;
mod token;
mod unlisted_nodes;
mod writes;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use crate::andrews::coordinator::CoordinatorDuties;
use crate::andrews::database::{Database, RowWatch, View};
use crate::andrews::diagnostics::UnlistedNodes;
use crate::andrews::election::{Elections, Victory};
use crate::andrews::message::OwnedElection;
use crate::andrews::ring::{Inbound, Proof, Role};
use crate::andrews::token::{Requests, Token};
use crate::andrews::{Command, DatabaseState, Event, Job, NodeList, Options, OptionsError, State};
use crate::random::RandomNumbers;
use crate::time::{Instant, Now};
use crate::{
    JobRequest, Machine, SendOutcome, StoreOutcome, StreamEvent, StreamId, StreamOp, Ticket,
    Transmit,
};
use outbox::Outbox;

/// The sockets are bound, and the node begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketsBound;

/// A node of a coordinated ring.
///
/// The node begins when its [sockets are bound](SocketsBound). Before a timeout, the driver must pass on everything
/// that waits in the sockets. If timeouts came first, a stalled process would treat its peers as late.
#[derive(Debug)]
pub struct Andrews {
    options: Options,
    list: NodeList,
    draw: RandomNumbers,
    now: Instant,
    role: Role,
    inbound: Inbound,
    proof: Proof,
    database: Database,
    /// The rows of the last look, including this node's changes.
    view: Option<View>,
    watch: RowWatch,
    unlisted: UnlistedNodes,
    /// The duties of the coordinator; `None` unless the row names this node.
    duties: Option<CoordinatorDuties>,
    token: Token,
    requests: Requests,
    elections: Elections,
    /// Messages of elections that wait for a successor.
    waiting: VecDeque<OwnedElection>,
    victory: Option<Victory>,
    out: Outbox,
    reported_state: State,
    reported_database: DatabaseState,
    /// The latest time at which a node that is shutting down ends.
    leave_by: Option<Instant>,
    is_begun: bool,
    is_finished: bool,
}

impl Andrews {
    /// Creates a node that remembers nothing of earlier processes. `seed` is random, and differs in each process.
    ///
    /// # Errors
    /// Returns an error if the options cannot work.
    pub fn new(options: Options, list: NodeList, seed: u64) -> Result<Self, OptionsError> {
        options.check(&list)?;
        Ok(Self {
            options,
            list,
            draw: RandomNumbers::new(seed),
            now: Instant::default(),
            role: Role::Starting(None),
            inbound: Inbound::default(),
            proof: Proof::default(),
            database: Database::default(),
            view: None,
            watch: RowWatch::default(),
            unlisted: UnlistedNodes::default(),
            duties: None,
            token: Token::new(),
            requests: Requests::default(),
            elections: Elections::new(options.election),
            waiting: VecDeque::new(),
            victory: None,
            out: Outbox::new(options.id),
            reported_state: State::Starting,
            reported_database: DatabaseState::Up,
            leave_by: None,
            is_begun: false,
            is_finished: false,
        })
    }

    /// Returns the options of the node.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the nodes that may be in the ring.
    pub const fn list(&self) -> &NodeList {
        &self.list
    }

    /// Whether the node has ended. An ended node ignores all inputs.
    pub const fn is_finished(&self) -> bool {
        self.is_finished
    }

    const fn is_running(&self) -> bool {
        self.is_begun && !self.is_finished
    }

    // The time of the state machine never goes back, even if the time of the driver does.
    fn advance_clock(&mut self, now: Now) {
        self.now = self.now.max(now.monotonic);
    }

    /// Returns R for the members in the last rows that the node read.
    fn silence(&self) -> Duration {
        let members = self.view.as_ref().map_or(0, View::len);
        self.options.token_loss_timeout(members)
    }

    /// Takes the actions that any input may cause.
    fn settle(&mut self) {
        if self.is_running() {
            self.follow_row();
            self.start_as_new_member();
            self.use_token();
            self.use_database();
            self.leave_if_done();
        }
        let state = self.role.state();
        if std::mem::replace(&mut self.reported_state, state) != state {
            self.out.push_event(Event::StateChanged { state });
        }
        self.check_invariants();
    }

    fn on_timeout(&mut self) {
        self.out.continue_broadcasts(&self.list);
        self.on_database_due();
        self.on_connections_due();
        self.on_link_due();
        self.on_repeat_due();
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
            self.out.has_broadcasts().then_some(self.now),
            self.database.due(options.database_timeout),
            self.connections_due(),
            self.link_due(),
            self.repeat_due(),
            self.token.due(self.now),
            self.write_due(),
            self.elections.deadline(),
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
    type Net = SocketsBound;
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

    fn handle_link(&mut self, now: Now, _: SocketsBound) {
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
            self.on_timeout();
        }
        self.settle();
    }

    fn handle_sent(&mut self, now: Now, _: Ticket, _: SendOutcome) {
        // The kernel may refuse a datagram. The protocol treats this datagram like a lost datagram.
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

    fn handle_stored(&mut self, now: Now, _: StoreOutcome) {
        self.advance_clock(now);
    }

    fn poll_durable(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<SocketAddr>> {
        let (to, len) = self.out.pop_datagram(buf)?;
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

    fn poll_job(&mut self) -> Option<JobRequest<Job>> {
        self.database.next_job().map(JobRequest::Start)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.out.next_event()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due()
    }
}
