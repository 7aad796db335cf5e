//! The state machine. The state machine owns its parts, and passes each input to the parts that need the input. Only
//! the files in this folder use several parts together. Start reading at `settle`, which runs after every input.
//!
//! | file | holds |
//! |---|---|
//! | `datagrams`, `streams`, `messages`, `outbox` | messages that arrive and leave |
//! | `states`, `timer`, `shutdown` | changes of state, and their times |
//! | `ranks`, `terms` | the strength of the node's token, and the options of other nodes |
//! | `turn`, `giver` | a leader's turn, and the giver's side of a pass |
//! | `taker` | the candidate's side of a pass |
//! | `status`, `invariants` | values that people read, and conditions that hold after every input |

mod datagrams;
mod giver;
mod invariants;
mod messages;
mod outbox;
mod ranks;
mod shutdown;
mod states;
mod status;
mod streams;
mod taker;
mod terms;
#[cfg(test)]
mod test_access;
mod timer;
mod turn;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ring_codec::jitterbug::{Node, TokenId};

use super::data::Data;
use super::inbound::Inbound;
use super::nodes::{ForeignNodes, NodeList, Peers, Penalties};
use super::role::Role;
use super::tokens::{self, Announcements, FollowState, PassedToken, Rival};
use super::{Command, Event, Job, Network, NetworkState, Options, OptionsError};
use crate::random::RandomNumbers;
use crate::time::{Instant, Now};
use crate::{
    JobRequest, Machine, SendOutcome, StoreOutcome, StreamEvent, StreamId, StreamOp, Ticket,
    Transmit,
};
use outbox::Outbox;

/// A node of a Jitterbug ring.
///
/// The node begins when its network is [up](NetworkState::Up) for the first time. Before a timeout, the driver must
/// pass on everything that waits in the sockets. Datagrams come before events of connections.
#[derive(Debug)]
pub struct Jitterbug {
    options: Options,
    draw: RandomNumbers,
    now: Instant,
    net: Option<Network>,
    role: Role,
    token_id: TokenId,
    list: NodeList,
    penalties: Penalties,
    passed_token: PassedToken,
    rival: Rival,
    follow_state: FollowState,
    peers: Peers,
    foreign_nodes: ForeignNodes,
    /// The strongest leader of another ring.
    foreign_leader: Rival,
    announcements: Announcements,
    inbound: Inbound,
    data: Data,
    out: Outbox,
    /// The time of the node's last TR1 to all nodes.
    last_broadcast: Option<Instant>,
    turns: u64,
    /// Whether local work wants the token or uses it.
    has_work: bool,
    /// The last report to observers: whether local work may use the token.
    reported_may_use: bool,
    /// The time after which a leader that shuts down no longer tries to pass its token.
    leave_by: Option<Instant>,
    is_finished: bool,
    /// Nodes that the node must remove from the list, because they never answered.
    silent: Vec<IpAddr>,
}

impl Jitterbug {
    /// Creates a node that remembers nothing of earlier processes. `seed` is random, so that other nodes cannot guess
    /// the token ids.
    ///
    /// # Errors
    /// Returns an error if the options cannot work.
    pub fn new(options: Options, seed: u64) -> Result<Self, OptionsError> {
        options.check()?;
        let mut draw = RandomNumbers::new(seed);
        Ok(Self {
            options,
            token_id: tokens::first(&mut draw),
            draw,
            now: Instant::default(),
            net: None,
            role: Role::Orphan(None),
            list: NodeList::new(options.max_nodes),
            penalties: Penalties::default(),
            passed_token: PassedToken::default(),
            rival: Rival::default(),
            follow_state: FollowState::default(),
            peers: Peers::default(),
            foreign_nodes: ForeignNodes::default(),
            foreign_leader: Rival::default(),
            announcements: Announcements::default(),
            inbound: Inbound::default(),
            data: Data::new(),
            out: Outbox::new(),
            last_broadcast: None,
            turns: 0,
            has_work: false,
            reported_may_use: false,
            leave_by: None,
            is_finished: false,
            silent: Vec::new(),
        })
    }

    /// Returns the node's own entry of the list.
    fn own(&self) -> Option<Node> {
        self.net.map(|net| Node {
            ip: net.address,
            port: net.tcp_port,
        })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.net.is_some_and(|net| net.address == address)
    }

    /// Takes the actions that may follow from any input.
    fn settle(&mut self) {
        if self.is_finished {
            return self.report_use();
        }
        loop {
            self.decide_waiting();
            let is_granted = self.role.restore_mut().is_some_and(|it| it.is_granted());
            // An answered exchange may still bring a token, and then there would be two tokens.
            if is_granted && !self.inbound.has_answered() {
                self.out.counters.restores_won += 1;
                self.out.push_event(Event::RestoreWon);
                self.follow_state.on_token_created();
                // A leader that was heard before the restore did not object, so it is gone.
                self.rival.forget();
                self.become_leader();
            }
            // After a restore the announcement is due at once, because the new id was not announced. The check comes
            // before each pass. Otherwise a leader that passes at once would never announce itself.
            if self.announcement_due().is_some_and(|due| due <= self.now) {
                self.announce();
            }
            if self.is_finished || !self.take_turn_step() {
                break;
            }
        }
        self.report_use();
    }

    /// Handles an input. If the node has ended, ignores the input.
    fn handle<T: Default>(&mut self, now: Now, act: impl FnOnce(&mut Self) -> T) -> T {
        self.advance_clock(now);
        let outcome = if self.is_finished {
            T::default()
        } else {
            act(self)
        };
        self.settle();
        self.check_invariants();
        outcome
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Done { job, outcome } => {
                let ended = self.data.on_outcome(job, outcome, self.options.max_data);
                self.on_data_result(ended);
            }
            Command::Work(has_work) => self.has_work = has_work,
            Command::Yield => {
                if let Some(turn) = self.role.turn_mut() {
                    turn.give_up_hold();
                }
            }
            Command::ShutDown => self.shut_down(),
        }
    }

    fn on_sent(&mut self, number: u64, sent: SendOutcome) {
        // The ticket is the number of a restore, so that late outcomes do not count for the next restore.
        let restore = self.role.restore_mut();
        if let Some(restore) = restore.filter(|restore| restore.number() == number)
            && sent != SendOutcome::Accepted
        {
            restore.note_unsent();
        }
    }

    fn report_use(&mut self) {
        let may_use = self.may_use_token();
        if std::mem::replace(&mut self.reported_may_use, may_use) != may_use {
            self.out.push_event(Event::UseChanged { may_use });
        }
    }
}

impl Machine for Jitterbug {
    type Peer = SocketAddr;
    type Net = NetworkState;
    type Command = Command;
    type Event = Event;
    type Durable = std::convert::Infallible;
    type Job = Job;

    fn has_lateness_handler(&self) -> bool {
        true
    }

    fn handle_lateness(&mut self, now: Now) {
        self.handle(now, |_| ());
    }

    fn handle_message(&mut self, now: Now, from: SocketAddr, message: &[u8], _age: Duration) {
        self.handle(now, |it| it.on_datagram(from.ip(), message));
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        self.handle(now, |it| it.on_command(command));
    }

    fn handle_link(&mut self, now: Now, net: NetworkState) {
        self.handle(now, |it| it.on_link(net));
    }

    fn handle_timeout(&mut self, now: Now) {
        self.handle(now, Self::on_timeout);
    }

    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: SendOutcome) {
        self.handle(now, |it| it.on_sent(ticket.id(), sent));
    }

    fn handle_stream(
        &mut self,
        now: Now,
        id: StreamId,
        event: StreamEvent<'_, SocketAddr>,
    ) -> usize {
        self.handle(now, |it| it.on_stream(id, event))
    }

    fn handle_stored(&mut self, now: Now, _stored: StoreOutcome) {
        self.advance_clock(now);
    }

    fn poll_durable(&mut self) -> Option<Self::Durable> {
        None
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<SocketAddr>> {
        let (to, len, ticket) = self.out.pop_datagram(buf)?;
        Some(Transmit {
            len,
            to,
            ticket: Ticket::new(ticket),
        })
    }

    fn poll_stream(&mut self, vacant: Option<StreamId>) -> Option<StreamOp<SocketAddr>> {
        if let Some(operation) = self.out.next_operation() {
            return Some(operation);
        }
        self.open(vacant)
    }

    fn poll_write(&mut self, id: StreamId, room: &mut [u8]) -> usize {
        self.write(id, room)
    }

    fn poll_job(&mut self) -> Option<JobRequest<Job>> {
        self.data.next_job()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.out.next_event()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.is_finished { None } else { self.due() }
    }
}
