//! The machine: it owns the parts, tells each what happens, and does what follows. Only this folder uses more than one part.
//!
//! | file | holds |
//! |---|---|
//! | `datagrams`, `streams`, `saying`, `output` | what comes in and goes out |
//! | `states`, `timer`, `leaving` | going from one state to another, and when |
//! | `ranks`, `terms` | how strong the own token is, and what follows from the options of others |
//! | `leading`, `giving` | a leader's turn, and the giver's side of a pass |
//! | `candidate` | the candidate's side |
//! | `view`, `invariants` | what others see of the machine, and what must always hold |

mod candidate;
mod datagrams;
mod giving;
#[cfg(debug_assertions)]
mod invariants;
mod leading;
mod leaving;
mod output;
mod ranks;
#[cfg(test)]
mod rigged;
mod saying;
mod states;
mod streams;
mod terms;
mod timer;
mod view;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ring_codec::jitterbug::{Node, TokenId};

use super::data::Data;
use super::inbound::Inbound;
use super::nodes::{Foreign, NodeList, Peers, Penalties};
use super::role::Role;
use super::tokens::{self, Announcements, Company, Gave, Rival};
use super::{Command, Event, Job, Net, Network, Options, OptionsError};
use crate::draw::Draw;
use crate::time::{Instant, Now};
use crate::{JobOp, Machine, Sent, Stored, StreamEvent, StreamId, StreamOp, Ticket, Transmit};
use output::Output;

/// A node of a Jitterbug ring.
///
/// It begins when it is told for the first time that its network is [up](Net::Up). Time-outs are to be told only after
/// all that waits in its sockets was, and datagrams before what has happened to connections.
#[derive(Debug)]
pub struct Jitterbug {
    options: Options,
    draw: Draw,
    now: Instant,
    net: Option<Network>,
    role: Role,
    token_id: TokenId,
    list: NodeList,
    penalties: Penalties,
    gave: Gave,
    rival: Rival,
    company: Company,
    peers: Peers,
    foreign: Foreign,
    /// The strongest leader of another ring.
    foreign_leader: Rival,
    announcements: Announcements,
    inbound: Inbound,
    data: Data,
    out: Output,
    /// When it has sent TR1 to all last.
    spoke: Option<Instant>,
    /// Turns begun.
    turns: u64,
    /// Local work wants the token or has it.
    has_work: bool,
    /// What observers were told last of whether local work may use the token.
    told_may_use: bool,
    /// When a leader that shuts down gives up to hand its token on.
    leave_by: Option<Instant>,
    is_finished: bool,
    /// Nodes to be taken out of the list since they never answered.
    silent: Vec<IpAddr>,
}

impl Jitterbug {
    /// A node with no memory. `seed` is random: nobody who does not know it can guess its token ids.
    ///
    /// # Errors
    /// The options cannot work.
    pub fn new(options: Options, seed: u64) -> Result<Self, OptionsError> {
        options.check()?;
        let mut draw = Draw::new(seed);
        Ok(Self {
            options,
            token_id: tokens::first(&mut draw),
            draw,
            now: Instant::default(),
            net: None,
            role: Role::Orphan(None),
            list: NodeList::new(options.max_nodes),
            penalties: Penalties::default(),
            gave: Gave::default(),
            rival: Rival::default(),
            company: Company::default(),
            peers: Peers::default(),
            foreign: Foreign::default(),
            foreign_leader: Rival::default(),
            announcements: Announcements::default(),
            inbound: Inbound::default(),
            data: Data::new(),
            out: Output::new(),
            spoke: None,
            turns: 0,
            has_work: false,
            told_may_use: false,
            leave_by: None,
            is_finished: false,
            silent: Vec::new(),
        })
    }

    /// The own entry of the list.
    fn own(&self) -> Option<Node> {
        self.net.map(|net| Node {
            ip: net.address,
            port: net.tcp_port,
        })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.net.is_some_and(|net| net.address == address)
    }

    /// What follows from an input, whatever it was.
    fn settle(&mut self) {
        if self.is_finished {
            return self.tell_use();
        }
        loop {
            self.decide();
            let is_granted = self.role.restore_mut().is_some_and(|it| it.is_granted());
            if is_granted && !self.inbound.has_answered() {
                self.out.counters.restores_won += 1;
                self.out.event(Event::RestoreWon);
                self.company.made();
                // A leader that was heard before the restore has not objected: it is gone.
                self.rival.forget();
                self.become_leader();
            }
            // At once after a restore, since nobody has announced a new id. Before each pass, since a leader that passes
            // at once would otherwise never say that it leads.
            if self.announce_at().is_some_and(|due| due <= self.now) {
                self.announce();
            }
            if self.is_finished || !self.go_on() {
                break;
            }
        }
        self.tell_use();
    }

    /// Takes an input, which does nothing to a node that has ended.
    fn input<T: Default>(&mut self, now: Now, act: impl FnOnce(&mut Self) -> T) -> T {
        self.advance_clock(now);
        let outcome = if self.is_finished {
            T::default()
        } else {
            act(self)
        };
        self.settle();
        #[cfg(debug_assertions)]
        self.check_invariants();
        outcome
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Done { job, outcome } => {
                let ended = self.data.done(job, outcome, self.options.max_data);
                self.on_ended(ended);
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

    fn on_sent(&mut self, number: u64, sent: Sent) {
        let restore = self.role.restore_mut();
        if let Some(restore) = restore.filter(|restore| restore.number() == number)
            && sent != Sent::Accepted
        {
            restore.unsent();
        }
    }

    fn tell_use(&mut self) {
        let may_use = self.may_use_token();
        if std::mem::replace(&mut self.told_may_use, may_use) != may_use {
            self.out.event(Event::UseChanged { may_use });
        }
    }
}

impl Machine for Jitterbug {
    type Peer = SocketAddr;
    type Net = Net;
    type Command = Command;
    type Event = Event;
    type Durable = std::convert::Infallible;
    type Job = Job;

    fn heeds_lateness(&self) -> bool {
        true
    }

    fn handle_lateness(&mut self, now: Now) {
        self.input(now, |_| ());
    }

    fn handle_message(&mut self, now: Now, from: SocketAddr, message: &[u8], _age: Duration) {
        self.input(now, |it| it.on_datagram(from.ip(), message));
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        self.input(now, |it| it.on_command(command));
    }

    fn handle_link(&mut self, now: Now, net: Net) {
        self.input(now, |it| it.on_link(net));
    }

    fn handle_timeout(&mut self, now: Now) {
        self.input(now, Self::on_time);
    }

    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: Sent) {
        self.input(now, |it| it.on_sent(ticket.id(), sent));
    }

    fn handle_stream(
        &mut self,
        now: Now,
        id: StreamId,
        event: StreamEvent<'_, SocketAddr>,
    ) -> usize {
        self.input(now, |it| it.on_stream(id, event))
    }

    fn handle_stored(&mut self, now: Now, _stored: Stored) {
        self.advance_clock(now);
    }

    fn poll_durable(&mut self) -> Option<Self::Durable> {
        None
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<SocketAddr>> {
        let (to, len, ticket) = self.out.fetch(buf)?;
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

    fn poll_job(&mut self) -> Option<JobOp<Job>> {
        self.data.next_job()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.out.next_event()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.is_finished { None } else { self.due() }
    }
}
