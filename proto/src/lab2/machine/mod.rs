//! The machine: it owns the parts, tells each what happens, and does what follows. Only this folder uses more than one part.
//!
//! | file | holds |
//! |---|---|
//! | `context`, `link` | the time, the constants and the interface |
//! | `input` | frames: which count, what each tells of its author, and which rule they go to |
//! | `tokens` | the rules of the messages about the token, in every state |
//! | `states` | going from one state to another |
//! | `owning`, `passing` | OWNER |
//! | `looking` | LOOSER and GENERATING |
//! | `wanting`, `data` | what an application asks for |
//! | `confirming` | grades and promises |
//! | `membership` | what members say of themselves and of each other |
//! | `fitness`, `shutdown` | owning nothing, and leaving |
//! | `jobs` | the machine of jobs |
//! | `frames`, `output`, `outbox`, `timer` | what is sent, told and waited for |
//! | `view`, `judged` | what others see of the machine |
//! | `snapshot`, `invariants` | what its future depends on, and what must always hold |

mod confirming;
mod context;
mod data;
mod fitness;
mod frames;
mod input;
#[cfg(debug_assertions)]
mod invariants;
mod jobs;
mod judged;
mod link;
mod looking;
mod membership;
mod outbox;
mod output;
mod owning;
mod passing;
mod shutdown;
mod snapshot;
mod states;
mod timer;
mod tokens;
pub(super) mod view;
mod wanting;

use std::convert::Infallible;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Version;

pub(crate) use context::Context;
pub(crate) use outbox::Content;
pub(crate) use output::Output;
pub(crate) use snapshot::Writer;
pub(crate) use timer::Timer;

use super::confidence::Confidence;
use super::diagnostics::Diagnostics;
use super::election::{Known, Rivals, Search};
use super::jobs::{Input, Jobs};
use super::members::Members;
use super::tenure::{Fitness, Role, Tenure, Wish};
use super::{Command, Constants, Durable, Event, Reason, State, StoredStamp};
use crate::time::{Instant, Now};
use crate::timers::TimerKind;
use crate::{LinkState, Machine, Sent, Stored, Ticket, Transmit};
use shutdown::Shutdown;

/// The Lab2 machine of one node. See [the contract](crate#contract) of its calls.
#[derive(Debug, Clone)]
pub struct Lab2 {
    context: Context,
    role: Role,
    known: Known,
    /// Tokens beside the one that counts. They outlast a tenure.
    rivals: Rivals,
    wish: Wish,
    fitness: Fitness,
    members: Members,
    confidence: Confidence,
    jobs: Jobs,
    diagnostics: Diagnostics,
    shutdown: Shutdown,
    out: Output,
}

impl Lab2 {
    /// A machine whose link is down, with what an earlier run has stored.
    pub fn new(constants: Constants, durable: Durable) -> Self {
        Self {
            members: Members::new(constants.max_members),
            context: Context::new(constants),
            role: Role::Looser(Search::default()),
            known: Known::new(&durable),
            rivals: Rivals::default(),
            wish: Wish::default(),
            fitness: Fitness::default(),
            confidence: Confidence::new(),
            jobs: Jobs::default(),
            diagnostics: Diagnostics::default(),
            shutdown: Shutdown::No,
            out: Output::new(),
        }
    }

    /// Gives it the stamps that an earlier run has stored, before anything else.
    pub fn with_stamps(mut self, stored: impl IntoIterator<Item = StoredStamp>) -> Self {
        self.jobs.remember(stored);
        self
    }

    /// Makes the machine tell its members this version.
    pub fn with_version(mut self, version: Version) -> Self {
        self.diagnostics.set_version(version);
        self
    }

    /// The own address. Only asked for while the link is or was up.
    fn me(&self) -> MacAddr {
        self.context.me()
    }

    fn event(&mut self, event: Event) {
        self.out.event(event);
    }

    fn send(&mut self, to: MacAddr, content: Content) {
        self.out.send(to, content);
    }

    fn send_ping(&mut self, to: MacAddr) {
        self.members.send_ping(&self.context, &mut self.out, to);
    }

    fn broadcast(&mut self, content: Content) {
        self.out.broadcast(content);
    }

    fn timer_in(&mut self, timer: Timer, delay: Duration) {
        self.out.set(timer, self.context.now() + delay);
    }

    fn advance(&mut self, now: Now) {
        if self.context.advance(now) {
            self.jobs.recall(self.context.clock());
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Lease => self.on_lease_expired(),
            Timer::Grade => self.review_grade(),
            Timer::Acknowledge => self.acknowledge(),
            Timer::Take => self.on_take_timeout(),
            Timer::Pass => self.on_rested(),
            Timer::Heartbeat => self.on_heartbeat_due(),
            Timer::Waiter => {
                self.become_looser(Reason::WaiterTimeout);
                self.probe_soon();
            }
            Timer::Answer => self.on_no_answer(),
            Timer::Ask => self.on_question_due(),
            Timer::Compare => self.compare(),
            Timer::Want => self.say_want(),
            Timer::Store => self.on_store_due(),
            Timer::Stamps => self.tell_jobs(Input::Due),
            Timer::Probe => self.probe(),
            Timer::Members => self.review_members(),
        }
    }

    /// A WAITER of a large ring whose turn has come asks for what its table lacks.
    fn compare(&mut self) {
        if self.state() == State::Waiter {
            self.members.ask_for_table(&self.context, &mut self.out);
        }
    }

    /// What depends on the state that an input has led to in the end.
    fn finish_input(&mut self) {
        self.diagnostics
            .review_hearing(&self.context, &self.members, &mut self.out);
        self.look_around();
        self.recount();
        self.review_jobs();
        self.leave_if_free();
        self.go_on_wanting();
    }

    /// What comes after every input.
    fn end_input(&self) {
        #[cfg(debug_assertions)]
        self.check_invariants();
    }

    /// Looks, now and then, for what changes though nothing happens: members that say nothing, and a clock
    /// that is set.
    fn look_around(&mut self) {
        let (context, out) = (&self.context, &mut self.out);
        if !(self.diagnostics).look_around(context, &mut self.members, out) {
            return;
        }
        if !self.members.agree() {
            self.review_constants();
        }
        if let Some(token) = self.token() {
            self.diagnostics
                .compare_with_clock(&self.context, &mut self.out, token);
        }
    }
}

impl Machine for Lab2 {
    type Peer = ();
    type Net = LinkState;
    type Job = Infallible;
    type Command = Command;
    type Event = Event;
    type Durable = Durable;

    fn handle_message(&mut self, now: Now, (): (), frame: &[u8], age: Duration) {
        self.advance(now);
        // What it has cost to send in answer to the frames before is this one's age, too.
        let age = age + self.context.now().since(now.monotonic);
        self.expire_lease();
        self.expire_grade();
        self.out.begin_replies();
        self.receive(frame, age);
        self.finish_input();
        self.end_input();
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        self.advance(now);
        self.out.begin_freely();
        self.expire_lease();
        self.expire_grade();
        if self.has_left() {
            return;
        }
        match command {
            Command::WantToken => self.want_token(),
            Command::WorkDone => self.work_done(),
            Command::SetData(data) => self.set_data(&data),
            Command::Confirm => self.ask_to_confirm(),
            Command::Once(request) => self.tell_jobs(Input::Begin(request)),
            Command::EndOnce(id, end) => self.tell_jobs(Input::End(id, end)),
            Command::Pause(paused) => self.set_paused(paused),
            Command::Yield(to) => self.yield_to(to),
            Command::Announce(work) => self.diagnostics.announce(work),
            Command::Forget(mac) => self.forget(mac),
            Command::ShutDown => self.shut_down(),
            Command::Leave => self.leave(),
        }
        self.finish_input();
        self.end_input();
    }

    fn handle_link(&mut self, now: Now, link: LinkState) {
        self.advance(now);
        self.out.begin_freely();
        self.expire_lease();
        self.expire_grade();
        self.link_changed(link);
        self.end_input();
    }

    fn handle_timeout(&mut self, now: Now) {
        self.advance(now);
        self.out.begin_freely();
        self.members.judge_hearing(&self.context);
        for &timer in Timer::ALL {
            if self.out.take_due(timer, self.context.now()) {
                self.fire(timer);
            }
        }
        self.finish_input();
        self.end_input();
    }

    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: Sent) {
        self.advance(now);
        self.on_sent(ticket, sent);
        self.end_input();
    }

    fn asks_when_left(&self) -> bool {
        self.role.tenure().is_some_and(Tenure::awaits_departure)
    }

    fn handle_left(&mut self, by: Now) {
        self.advance(by);
        self.on_departed();
        self.review_jobs();
        self.end_input();
    }

    fn handle_stored(&mut self, now: Now, stored: Stored) {
        self.advance(now);
        self.jobs.on_stored(stored);
        self.on_stored(stored);
        self.review_jobs();
        self.end_input();
    }

    fn poll_durable(&mut self) -> Option<Durable> {
        let may_try = self.known.take_unstored();
        if self.fitness.is_unstored() && !may_try {
            // It is tried again in a while.
            return None;
        }
        let stamp = self.jobs.take_unstored(self.context.clock());
        (may_try || stamp.is_some()).then(|| Durable {
            stamp,
            ..self.known.durable()
        })
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        self.next_frame(buf)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.out.next_event()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.out.next()
    }
}
