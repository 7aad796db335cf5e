//! The machine owns all parts of the server, passes inputs to the parts, and applies the rules that connect the parts.
//!
//! | file | contents |
//! |---|---|
//! | `input` | checks of datagrams |
//! | `election`, `leader`, `rounds`, `follower` | the three roles |
//! | `storage`, `terms` | the stored number, and options that must be equal on all servers |
//! | `sessions` | start, renewal and end of sessions |
//! | `service`, `survey`, `claims`, `transfer`, `departure` | which tokens may be served, surveys, and handovers |
//! | `request`, `returns`, `listing`, `memory` | messages of clients about tokens, and their memory |
//! | `holding`, `status` | reports for people |
//! | `invariants` | conditions that hold after each input |
//!
//! Start reading at `input`, then at `service`. Only `service` decides whether a token may be served.

mod claims;
mod departure;
mod election;
mod follower;
mod holding;
mod input;
mod invariants;
mod leader;
mod listing;
mod memory;
mod request;
mod returns;
mod rounds;
mod service;
mod sessions;
mod status;
mod storage;
mod survey;
mod terms;
mod transfer;

pub use departure::LEAVING_MAX;
pub use status::{Snapshot, TokenStatus};

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::{Kind, ServerState};

use crate::ftn::Servers;
use crate::ftn::server::group::{
    Election, Leadership, NumberLimits, PeerOptions, Role, Storage, View, terms_of,
};
use crate::ftn::server::knowledge::{Departure, Handover, Survey, TokenKnowledge};
use crate::ftn::server::output::Output;
use crate::ftn::server::sessions::{IdGenerator, Sessions};
use crate::ftn::server::tokens::Tokens;
use crate::ftn::server::{Command, Durable, Event, NetworkState, Options, OptionsError};
use crate::throttle::Throttle;
use crate::time::{Instant, Now};
use crate::{Machine, SendOutcome, StoreOutcome, Ticket, Transmit};

/// A server of the token service.
///
/// The server starts when its network is [up](NetworkState::Up) for the first time. The driver calls
/// [`handle_timeout`](Machine::handle_timeout) only after it has passed all waiting datagrams from the socket.
#[derive(Debug, Clone, Hash)]
pub struct Server {
    options: Options,
    servers: Servers,
    index: usize,
    id_generator: IdGenerator,
    now: Now,
    /// Time of the start, or `None` before the start.
    started: Option<Instant>,
    departure: Option<Departure>,
    has_left: bool,
    storage: Storage,
    number_limits: NumberLimits,
    out: Output,
    /// Type of the present datagram.
    present_kind: Option<Kind>,
    /// Reported senders that have a different list of servers.
    other_list_senders: BTreeSet<SocketAddr>,
    /// Reported senders that use the index of a server, but a different address.
    misplaced: BTreeSet<SocketAddr>,
    role: Role,
    view: View,
    /// State that the server announces.
    own_state: ServerState,
    /// Announcements of other servers whose options differ from this server's options.
    peer_options: PeerOptions,
    /// Time of the last answer to each other server.
    // Answers are limited, because two servers could otherwise answer each other indefinitely.
    answer_limits: Vec<Throttle>,
    sessions: Sessions,
    tokens: Tokens,
    knowledge: TokenKnowledge,
    /// Number of grants under the present configuration.
    grants: u64,
}

impl Server {
    /// Returns the server `index` of the list. `seed` must be random, so that session ids cannot be guessed. `durable`
    /// is the last stored value, or the default.
    ///
    /// # Errors
    /// Fails if the options cannot work, or if the list has no server `index`.
    pub fn new(
        options: Options,
        servers: Servers,
        index: usize,
        durable: Durable,
        seed: u64,
    ) -> Result<Self, OptionsError> {
        let count = servers.len();
        options.check(count)?;
        if index >= count {
            let servers = count;
            return Err(OptionsError::Index { index, servers });
        }
        let now = Now {
            monotonic: Instant::default(),
            wall: 0,
        };
        // Cannot fail: an index is below 32.
        let from = i32::try_from(index).unwrap_or_default();
        let ssig = servers.signature();
        let election = Election::new(now.monotonic, now.monotonic, true, count);
        Ok(Self {
            options,
            servers,
            index,
            id_generator: IdGenerator::new(seed),
            now,
            started: None,
            departure: None,
            has_left: false,
            storage: Storage::new(durable),
            number_limits: NumberLimits::default(),
            out: Output::new(from, ssig, terms_of(&options), options.max_memory),
            present_kind: None,
            other_list_senders: BTreeSet::new(),
            misplaced: BTreeSet::new(),
            role: Role::Electing(election),
            view: View::new(),
            own_state: ServerState::Down,
            peer_options: PeerOptions::new(count),
            answer_limits: vec![Throttle::default(); count],
            sessions: Sessions::default(),
            tokens: Tokens::default(),
            knowledge: TokenKnowledge::default(),
            grants: 0,
        })
    }

    /// Returns the server's options.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Whether the server has left. A server that has left serves and sends nothing.
    pub const fn has_left(&self) -> bool {
        self.has_left
    }

    /// Returns the data of `ringctl status`.
    pub fn snapshot(&self, now: Instant) -> Snapshot {
        let grace = self.role.as_leader().and_then(Leadership::grace);
        let survey = self.knowledge.survey();
        Snapshot {
            index: self.index,
            states: (0..self.servers.len())
                .map(|server| self.view.state(server))
                .collect(),
            ssig: self.servers.signature(),
            role: self.role.kind(),
            state: self.own_state,
            leader: self.leader(),
            configuration: self.view.number(),
            seq: self.view.seq(),
            authority: self.is_in_force(now),
            grace: grace.map_or(Duration::ZERO, |end| end.since(now)),
            survey: survey.map(|survey| survey.awaited_sessions().collect()),
            sessions: self.sessions.iter().collect(),
            tokens: self.tokens.len(),
            held: self.tokens.held_count(),
            waiting: self.tokens.waiting_count(),
            memory_bytes: self.memory_bytes(),
            parts_bytes: self.out.parts_bytes(),
        }
    }

    // The monotonic time of an input may be earlier than the time of the previous input. The server's time does not go
    // back.
    fn advance_clock(&mut self, now: Now) -> Now {
        self.now = Now {
            monotonic: self.now.monotonic.max(now.monotonic),
            // The wall clock may go back, for example after a correction.
            wall: now.wall,
        };
        self.out.set_now(self.now.monotonic);
        self.now
    }

    const fn is_running(&self) -> bool {
        self.started.is_some() && !self.has_left
    }

    fn check_after_input(&self) {
        self.check_invariants();
    }
}

impl Machine for Server {
    type Peer = SocketAddr;
    type Net = NetworkState;
    type Command = Command;
    type Event = Event;
    type Durable = Durable;
    type Job = Infallible;

    // The outcome of sending has no effect, and no datagram leaves before the number that it depends on is stored.
    fn can_batch_output(&self) -> bool {
        true
    }

    fn handle_message(&mut self, now: Now, from: SocketAddr, message: &[u8], age: Duration) {
        let now = self.advance_clock(now);
        self.present_kind = None;
        // Leases count from the arrival at the host, not from a late reading of the socket.
        self.on_datagram(now, now.monotonic.before(age), from, message);
        if self.is_running() {
            // A datagram may have begun or ended a session, and its round need not wait for a timeout.
            self.on_early_round_due(now.monotonic);
            self.continue_departure(now.monotonic);
        }
        self.check_after_input();
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        let now = self.advance_clock(now);
        match command {
            Command::ShutDown if self.is_running() => self.shut_down(now.monotonic),
            // Before its start a server has no tokens to hand over.
            Command::ShutDown => self.has_left = true,
            Command::Addresses(addresses) => {
                // A sender that was misplaced may have the right address now.
                if self.servers.update_addresses(&addresses) {
                    self.misplaced.clear();
                }
            }
        }
        self.check_after_input();
    }

    fn handle_link(&mut self, now: Now, net: NetworkState) {
        let now = self.advance_clock(now);
        if net == NetworkState::Up && self.started.is_none() && !self.has_left {
            // The silence after a start begins when messages can arrive.
            self.started = Some(now.monotonic);
            self.out.start(now.wall);
            self.start_election(now, now.monotonic, true);
        }
        self.check_after_input();
    }

    fn handle_timeout(&mut self, now: Now) {
        let now = self.advance_clock(now);
        let at = now.monotonic;
        if !self.is_running() {
            return;
        }
        // The driver tries again as soon as `poll_durable` returns the value.
        self.storage.on_due(at);
        match self.role {
            Role::Electing(_) => self.on_election_due(now),
            Role::Follower(_) => self.on_follower_due(now),
            // A leader that gives up must not first do the work of a leader.
            Role::Leader(ref leadership) => match self.give_up_due(leadership) {
                Some(due) if due <= at => self.give_up(now),
                _ => self.on_leader_due(at),
            },
        }
        self.on_sweep_due(at);
        self.on_survey_due(at);
        self.on_transfer_due(at);
        self.on_revokes_due(at);
        self.on_memory_due(at);
        self.continue_departure(at);
        self.check_after_input();
    }

    fn handle_sent(&mut self, _now: Now, _ticket: Ticket, sent: SendOutcome) {
        if sent != SendOutcome::Accepted {
            // The protocol tolerates lost datagrams, so a failed send is only counted.
            self.out.counters.unsent += 1;
        }
    }

    fn handle_stored(&mut self, now: Now, stored: StoreOutcome) {
        let now = self.advance_clock(now);
        self.on_stored(now.monotonic, stored);
        self.check_after_input();
    }

    fn poll_durable(&mut self) -> Option<Durable> {
        self.storage.value_to_store()
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<SocketAddr>> {
        let (to, len) = self.out.take_datagram(buf)?;
        Some(Transmit {
            len,
            to,
            ticket: Ticket::new(0),
        })
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.out.next_event()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if !self.is_running() {
            return None;
        }
        let role = match &self.role {
            Role::Electing(election) => election.due(),
            Role::Follower(following) => following.due(self.options.server_timeout),
            Role::Leader(leadership) => self.leader_due(self.now.monotonic, leadership),
        };
        let knowledge = &self.knowledge;
        let transfers = knowledge.handovers().iter().filter_map(Handover::due);
        let others = [
            self.storage.due(),
            // The sweep continues at once, with other inputs in between.
            knowledge.sweep().map(|_| self.now.monotonic),
            knowledge.survey().and_then(Survey::due),
            transfers.min(),
            self.tokens.next_revoke().map(|(due, _)| due),
            self.memory_due(),
            self.departure.as_ref().map(Departure::due),
        ];
        others.into_iter().flatten().chain([role]).min()
    }
}
