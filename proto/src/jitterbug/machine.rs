//! The machine: one place that composes the others.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ring_codec::jitterbug::{Node, TokenId};

use super::announcements::Announcements;
use super::company::Company;
use super::data::Data;
use super::foreign::Foreign;
use super::gave::Gave;
use super::inbound::Inbound;
use super::list::NodeList;
use super::outbox::Output;
use super::peers::Peers;
use super::penalties::Penalties;
use super::restore::Restore;
use super::rival::{Heard, Rival};
use super::role::{Role, Waiter};
use super::turn::{Phase, Turn};
use super::{Command, Event, Job, Net, Network, Options, OptionsError, Reason, token};
use crate::draw::Draw;
use crate::time::{Instant, Now};
use crate::{JobOp, Machine, Sent, Stored, StreamEvent, StreamId, StreamOp, Ticket, Transmit};

/// A loop that is to notice its own stalls wakes up so many times in the shortest one.
const LOOKS: u32 = 8;

/// A node of a Jitterbug ring.
///
/// It begins when it is told for the first time that its network is [up](Net::Up). Time-outs are to be told only after
/// all that waits in its sockets was, and datagrams before what has happened to connections.
#[derive(Debug)]
pub struct Jitterbug {
    pub(super) options: Options,
    pub(super) draw: Draw,
    pub(super) now: Instant,
    pub(super) net: Option<Network>,
    pub(super) role: Role,
    pub(super) token_id: TokenId,
    pub(super) list: NodeList,
    pub(super) penalties: Penalties,
    pub(super) gave: Gave,
    pub(super) rival: Rival,
    pub(super) company: Company,
    pub(super) peers: Peers,
    pub(super) foreign: Foreign,
    pub(super) announcements: Announcements,
    pub(super) inbound: Inbound,
    pub(super) data: Data,
    pub(super) out: Output,
    /// When it has sent TR1 to all last.
    pub(super) spoke: Option<Instant>,
    /// Turns begun.
    turns: u64,
    /// Local work wants the token or has it.
    pub(super) has_work: bool,
    /// What observers were told last of whether local work may use the token.
    pub(super) told_may_use: bool,
    /// When a leader that shuts down gives up to hand its token on.
    pub(super) leave_by: Option<Instant>,
    pub(super) is_finished: bool,
    /// Nodes to be taken out of the list since they never answered.
    pub(super) silent: Vec<IpAddr>,
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
            token_id: token::first(&mut draw),
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

    /// What the node was started with.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Whether it has ended: it says and takes nothing from then on.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Whether local work may use the token now: the node leads, does not give the token away, and no stronger ring of
    /// another policy is about.
    #[must_use]
    pub fn may_use_token(&self) -> bool {
        let turn = self.role.turn();
        turn.is_some_and(|turn| turn.round().is_none()) && !self.is_finished && !self.is_outranked()
    }

    /// The number of the node's present turn, or of its last one; 0: it had none.
    #[must_use]
    pub const fn turn(&self) -> u64 {
        self.turns
    }

    /// The own entry of the list.
    pub(super) fn own(&self) -> Option<Node> {
        self.net.map(|net| Node {
            ip: net.address,
            port: net.tcp_port,
        })
    }

    pub(super) fn is_own(&self, address: IpAddr) -> bool {
        self.net.is_some_and(|net| net.address == address)
    }

    /// The rival that has a stronger token than the node's own.
    pub(super) fn stronger(&self) -> Option<Heard> {
        let period = self.options.renew_timeout;
        self.rival.above(self.rank(), self.now, period)
    }

    pub(super) fn set_token_id(&mut self, id: TokenId) {
        let id = id.said_by(false);
        if id != self.token_id {
            self.token_id = id;
            self.announcements.changed(id);
        }
    }

    /// Its time never goes back. A leader or a restore that has stood still for too long ends here, before anything
    /// else is looked at (section 5, "Stall").
    fn advance_clock(&mut self, now: Now) {
        let stood = now.monotonic.since(self.now);
        // That of before: a lease must not grow since a node was silent while this one stood still.
        let lease = self.lease();
        self.now = self.now.max(now.monotonic);
        self.peers.expire(self.now, self.terms_count_for());
        if stood < lease || self.is_finished {
            return;
        }
        let is_concerned = matches!(self.role, Role::Leader(_) | Role::Orphan(Some(_)));
        if is_concerned {
            self.out.counters.stalls += 1;
            self.out.event(Event::Stalled { after: stood });
            self.become_orphan();
        }
    }

    /// Leaves the state that the node is in.
    pub(super) fn enter(&mut self, role: Role) {
        self.abort_pass();
        // What was computed for a turn that is over would be computed twice.
        self.data.cancel_computation();
        self.role = role;
        self.tell_state();
    }

    pub(super) fn tell_state(&mut self) {
        self.out.event(Event::StateChanged {
            state: self.role.state(),
            token_id: self.token_id.random(),
        });
    }

    /// Begins a restore, if there is a network; a node that is to leave ends instead.
    pub(super) fn become_orphan(&mut self) {
        if self.net.is_none() || self.leave_by.is_some() {
            self.enter(Role::Orphan(None));
            if self.leave_by.is_some() {
                self.finish();
            }
            return;
        }
        self.out.counters.restores += 1;
        self.company.begins_restore(self.now, self.spoke);
        let least = self.least_restore();
        let restore = Restore::new(self.now, self.out.counters.restores, least);
        self.enter(Role::Orphan(Some(restore)));
        self.out.event(Event::RestoreBegan);
        self.on_restore_due();
    }

    pub(super) fn become_waiter(&mut self, owes: bool) {
        self.enter(Role::Waiter(Waiter {
            renew_at: self.now + self.options.renew_timeout,
            owes,
        }));
        if self.leave_by.is_some() {
            self.finish();
        }
    }

    pub(super) fn become_leader(&mut self) {
        self.gave.forget();
        let turn = self.next_turn(false);
        self.enter(Role::Leader(turn));
    }

    pub(super) fn next_turn(&mut self, is_untaken: bool) -> Turn {
        self.turns += 1;
        Turn::new(self.now, is_untaken)
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

    /// What comes after every input.
    fn end_input(&mut self) {
        self.settle();
        #[cfg(debug_assertions)]
        self.check_invariants();
    }

    fn tell_use(&mut self) {
        let may_use = self.may_use_token();
        if std::mem::replace(&mut self.told_may_use, may_use) != may_use {
            self.out.event(Event::UseChanged { may_use });
        }
    }

    fn on_time(&mut self) {
        let now = self.now;
        if self.leave_by.is_some_and(|due| due <= now) {
            return self.finish_in_time();
        }
        self.on_restore_due();
        if matches!(&self.role, Role::Waiter(waiter) if waiter.renew_at <= now) {
            self.become_orphan();
        }
        self.on_pass_due();
        for id in self.inbound.late(now, self.options.token_pass_timeout) {
            self.reset(id, Reason::Late);
        }
        let ended = self.data.time_out(now, self.options.max_data);
        self.on_ended(ended);
    }

    fn due(&self) -> Option<Instant> {
        let watch = || self.now + self.lease() / LOOKS;
        let of_role = match &self.role {
            Role::Orphan(None) => [None; 3],
            Role::Orphan(Some(restore)) => [restore.due(), Some(watch()), None],
            Role::Waiter(waiter) => [Some(waiter.renew_at), None, None],
            Role::Leader(turn) => {
                let step = match &turn.phase {
                    Phase::Deciding | Phase::Computing => None,
                    Phase::Holding if self.keeps_for_work() => None,
                    Phase::Holding => Some(self.held_until(turn)),
                    Phase::Passing(round) => {
                        let pass = round.pass.as_ref().map(|pass| pass.deadline);
                        pass.or(round.put_off)
                    }
                };
                [step, self.announce_at(), Some(watch())]
            }
        };
        let oldest = self.inbound.oldest();
        let others = [
            oldest.map(|accepted| accepted + self.options.token_pass_timeout),
            self.data.due(),
            self.leave_by,
        ];
        of_role.into_iter().chain(others).flatten().min()
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
        self.advance_clock(now);
        self.end_input();
    }

    fn handle_message(&mut self, now: Now, from: SocketAddr, message: &[u8], _age: Duration) {
        self.advance_clock(now);
        if !self.is_finished {
            self.on_datagram(from.ip(), message);
        }
        self.end_input();
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        self.advance_clock(now);
        match command {
            _ if self.is_finished => {}
            Command::Done { job, outcome } => {
                let ended = self.data.done(job, outcome, self.options.max_data);
                self.on_ended(ended);
            }
            Command::Work(has_work) => self.has_work = has_work,
            Command::Yield => {
                if let Some(turn) = self.role.turn_mut() {
                    turn.is_yielded = true;
                }
            }
            Command::ShutDown => self.shut_down(),
        }
        self.end_input();
    }

    fn handle_link(&mut self, now: Now, net: Net) {
        self.advance_clock(now);
        if !self.is_finished {
            self.on_link(net);
        }
        self.end_input();
    }

    fn handle_timeout(&mut self, now: Now) {
        self.advance_clock(now);
        if !self.is_finished {
            self.on_time();
        }
        self.end_input();
    }

    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: Sent) {
        self.advance_clock(now);
        let restore = self.role.restore_mut();
        if let Some(restore) = restore.filter(|restore| restore.number() == ticket.id())
            && sent != Sent::Accepted
        {
            restore.unsent();
        }
        self.end_input();
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
        self.end_input();
        used
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
        if let Some(operation) = self.out.operations.pop_front() {
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
