//! The machine: it owns the parts, tells each what happens, and does what follows. The parts do not know of each other.
//!
//! | file | holds |
//! |---|---|
//! | `input` | where each datagram goes |
//! | `election`, `leading`, `rounds`, `following` | the three roles |
//! | `storage`, `terms` | the number that is stored, and options that must be equal on all servers |
//! | `login` | how sessions begin, are kept and end |
//! | `serving`, `survey`, `claims`, `transfer`, `leaving` | which tokens the server may serve, asking clients, and handing over |
//! | `request`, `returns`, `listing`, `memory` | what clients ask for, and what it takes |
//! | `holding`, `status` | what people are told |
//! | `invariants` | what must hold after each input |

mod claims;
mod election;
mod following;
mod holding;
mod input;
#[cfg(debug_assertions)]
mod invariants;
mod leading;
mod leaving;
mod listing;
mod login;
mod memory;
mod request;
mod returns;
mod rounds;
mod serving;
mod status;
mod storage;
mod survey;
mod terms;
mod transfer;

pub use leaving::LEAVING_MAX;
pub use status::{Snapshot, TokenStatus};

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::{Kind, ServerState};

use crate::ftn::Servers;
use crate::ftn::server::group::{
    Announced, Election, Leadership, Role, Steps, Storage, View, terms_of,
};
use crate::ftn::server::knowledge::{Knowledge, Leaving, Outgoing, Survey};
use crate::ftn::server::output::Output;
use crate::ftn::server::sessions::{Draw, Sessions};
use crate::ftn::server::tokens::Tokens;
use crate::ftn::server::{Command, Durable, Event, Net, Options, OptionsError};
use crate::throttle::Throttle;
use crate::time::{Instant, Now};
use crate::{Machine, Sent, Stored, Ticket, Transmit};

/// A server of the token service.
///
/// It starts when it is told for the first time that its network is [up](Net::Up). Time-outs are to be told only
/// after all that waits in the socket was.
#[derive(Debug, Clone, Hash)]
pub struct Server {
    options: Options,
    servers: Servers,
    index: usize,
    draw: Draw,
    now: Now,
    /// When it started; `None`: it has not.
    started: Option<Instant>,
    leaving: Option<Leaving>,
    has_left: bool,
    storage: Storage,
    steps: Steps,
    out: Output,
    /// The type of the datagram at hand.
    at_hand: Option<Kind>,
    /// Who has another list.
    strangers: BTreeSet<SocketAddr>,
    /// Who sends in the name of a server from another address than that server's.
    misplaced: BTreeSet<SocketAddr>,
    role: Role,
    view: View,
    /// What it says to be.
    own: ServerState,
    /// The options of the others that differ from its own.
    announced: Announced,
    /// When each of the others was last answered.
    answers: Vec<Throttle>,
    sessions: Sessions,
    tokens: Tokens,
    knowledge: Knowledge,
    /// Grants under the present configuration.
    grants: u64,
}

impl Server {
    /// The server `index` of the list. `seed` is random: nobody who does not know it can guess session ids.
    /// `durable` is what was stored last, or its default.
    ///
    /// # Errors
    /// The options cannot work, or there is no such server.
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
        // An index is below 32.
        let from = i32::try_from(index).unwrap_or_default();
        let ssig = servers.signature();
        let election = Election::new(now.monotonic, now.monotonic, true, count);
        Ok(Self {
            options,
            servers,
            index,
            draw: Draw::new(seed),
            now,
            started: None,
            leaving: None,
            has_left: false,
            storage: Storage::new(durable),
            steps: Steps::default(),
            out: Output::new(from, ssig, terms_of(&options), options.max_memory),
            at_hand: None,
            strangers: BTreeSet::new(),
            misplaced: BTreeSet::new(),
            role: Role::Electing(election),
            view: View::new(),
            own: ServerState::Down,
            announced: Announced::new(count),
            answers: vec![Throttle::default(); count],
            sessions: Sessions::default(),
            tokens: Tokens::default(),
            knowledge: Knowledge::default(),
            grants: 0,
        })
    }

    /// What the server was started with.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Whether it has left: it serves and says nothing from then on.
    pub const fn is_finished(&self) -> bool {
        self.has_left
    }

    /// What `ringctl status` shows.
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
            state: self.own,
            leader: self.leader(),
            configuration: self.view.number(),
            seq: self.view.seq(),
            authority: self.is_in_force(now),
            grace: grace.map_or(Duration::ZERO, |end| end.since(now)),
            survey: survey.map(|survey| survey.awaited().collect()),
            sessions: self.sessions.iter().collect(),
            tokens: self.tokens.len(),
            held: self.tokens.held(),
            waiting: self.tokens.waiting(),
            memory_bytes: self.memory_bytes(),
            parts_bytes: self.out.parts_bytes(),
        }
    }

    /// Its time never goes back.
    fn advance_clock(&mut self, now: Now) -> Now {
        self.now = Now {
            monotonic: self.now.monotonic.max(now.monotonic),
            wall: now.wall,
        };
        self.out.advance(self.now.monotonic);
        self.now
    }

    const fn is_running(&self) -> bool {
        self.started.is_some() && !self.has_left
    }

    /// What comes after every input.
    fn end_input(&self) {
        #[cfg(debug_assertions)]
        self.check_invariants();
    }
}

impl Machine for Server {
    type Peer = SocketAddr;
    type Net = Net;
    type Command = Command;
    type Event = Event;
    type Durable = Durable;
    type Job = Infallible;

    /// Nothing follows from whether a datagram was accepted, and none leaves before what it depends on is stored.
    fn gathers(&self) -> bool {
        true
    }

    fn handle_message(&mut self, now: Now, from: SocketAddr, message: &[u8], age: Duration) {
        let now = self.advance_clock(now);
        self.at_hand = None;
        self.on_datagram(now, now.monotonic.before(age), from, message);
        if self.is_running() {
            self.on_urgent_due(now.monotonic);
            self.go_on_leaving(now.monotonic);
        }
        self.end_input();
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        let now = self.advance_clock(now);
        match command {
            Command::ShutDown if self.is_running() => self.shut_down(now.monotonic),
            Command::ShutDown => self.has_left = true,
            Command::Addresses(addresses) => {
                if self.servers.readdress(&addresses) {
                    self.misplaced.clear();
                }
            }
        }
        self.end_input();
    }

    fn handle_link(&mut self, now: Now, net: Net) {
        let now = self.advance_clock(now);
        if net == Net::Up && self.started.is_none() && !self.has_left {
            self.started = Some(now.monotonic);
            self.out.start(now.wall);
            self.elect(now, now.monotonic, true);
        }
        self.end_input();
    }

    fn handle_timeout(&mut self, now: Now) {
        let now = self.advance_clock(now);
        let at = now.monotonic;
        if !self.is_running() {
            return;
        }
        self.storage.on_due(at);
        match self.role {
            Role::Electing(_) => self.on_election_due(now),
            Role::Follower(_) => self.on_follower_due(now),
            Role::Leader(ref leadership) => match self.gives_up_at(leadership) {
                Some(due) if due <= at => self.give_up(now),
                _ => self.on_leader_due(at),
            },
        }
        self.on_sweep_due(at);
        self.on_survey_due(at);
        self.on_transfer_due(at);
        self.on_revokes_due(at);
        self.on_memory_due(at);
        self.go_on_leaving(at);
        self.end_input();
    }

    fn handle_sent(&mut self, _now: Now, _ticket: Ticket, sent: Sent) {
        if sent != Sent::Accepted {
            // As good as lost, which is borne.
            self.out.counters.unsent += 1;
        }
    }

    fn handle_stored(&mut self, now: Now, stored: Stored) {
        let now = self.advance_clock(now);
        self.on_stored(now.monotonic, stored);
        self.end_input();
    }

    fn poll_durable(&mut self) -> Option<Durable> {
        self.storage.unstored()
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<SocketAddr>> {
        let (to, len) = self.out.fetch(buf)?;
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
        let transfers = knowledge.outgoing().iter().filter_map(Outgoing::due);
        let others = [
            self.storage.due(),
            knowledge.sweep().map(|_| self.now.monotonic),
            knowledge.survey().and_then(Survey::due),
            transfers.min(),
            self.tokens.next_revoke().map(|(due, _)| due),
            self.memory_due(),
            self.leaving.as_ref().map(Leaving::due),
        ];
        others.into_iter().flatten().chain([role]).min()
    }
}
