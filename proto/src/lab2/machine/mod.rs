//! The state machine, which consists of several parts. This folder passes each input to the parts that need it, and
//! applies the consequences. Code outside this folder belongs to one part, and does not use the fields of other parts.
//! Start with `Machine for Lab2` below, then read `receive` and `token_messages`.
//!
//! | file | holds |
//! |---|---|
//! | `context`, `link` | the time, the constants and the interface of the node |
//! | `receive` | received frames: whether a frame counts, the effects of all frames, and the code for each kind |
//! | `token_messages` | the effects of messages about the token, in every state |
//! | `transitions` | transitions between the states |
//! | `waiter` | WAITER: the timeout after which the owner counts as dead |
//! | `owner`, `handover` | OWNER: heartbeats, lease and handover |
//! | `election` | LOOSER and GENERATING: questions and elections |
//! | `requests`, `data` | requests of the application |
//! | `grades` | grades of the tenure, and promises |
//! | `membership` | members that come, leave, pause or change |
//! | `fitness`, `shutdown` | the times in which the node must not own the token; the shutdown |
//! | `jobs`, `locks` | the connections of the jobs of `once`, and of named locks, with the other parts |
//! | `survey` | the connections of the surveys with the other parts |
//! | `last_frames` | the frames that the guardian sends after the death of the process |
//! | `transmit`, `output`, `outbox`, `timer` | outgoing frames, events and timers |
//! | `view`, `inspect` | read access for status, tests and simulator |
//! | `snapshot`, `invariants` | the state as bytes, and the invariants of the state machine |

mod adjust;
mod context;
mod data;
mod election;
mod fitness;
mod grades;
mod handover;
mod inspect;
mod invariants;
mod jobs;
mod last_frames;
mod link;
mod locks;
mod membership;
mod outbox;
mod output;
mod owner;
mod preference;
mod receive;
mod requests;
mod shutdown;
mod snapshot;
mod survey;
mod timer;
mod token_messages;
mod transitions;
mod transmit;
pub(super) mod view;
mod waiter;

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
use super::election::{BestToken, Rivals, Search};
use super::jobs::{JobInput, Jobs};
use super::locks::{Locks, LocksInput};
use super::members::Members;
use super::survey::Survey;
use super::tenure::{Fitness, LocalWork, Role, Tenure};
use super::{Command, Constants, Event, HostName, State, StoredStamp, StoredState};
use crate::time::{Instant, Now};
use crate::timers::TimerKind;
use crate::{LinkState, Machine, SendOutcome, StoreOutcome, Ticket, Transmit};
use shutdown::Shutdown;

/// The Lab2 state machine of one node. [The contract](crate#contract) describes how to call it.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Lab2 {
    context: Context,
    role: Role,
    known: BestToken,
    /// The rivals of the held token. They survive the end of the tenure.
    rivals: Rivals,
    local_work: LocalWork,
    fitness: Fitness,
    members: Members,
    confidence: Confidence,
    jobs: Jobs,
    locks: Locks,
    diagnostics: Diagnostics,
    survey: Survey,
    shutdown: Shutdown,
    out: Output,
}

impl Lab2 {
    /// Creates a state machine from the stored state of an earlier process. Its link is down.
    pub fn new(constants: Constants, durable: StoredState) -> Self {
        Self {
            members: Members::new(constants.max_members),
            context: Context::new(constants),
            role: Role::Looser(Search::default()),
            known: BestToken::new(&durable),
            rivals: Rivals::default(),
            local_work: LocalWork::default(),
            fitness: Fitness::default(),
            confidence: Confidence::new(),
            jobs: Jobs::default(),
            locks: Locks::default(),
            diagnostics: Diagnostics::default(),
            survey: Survey::default(),
            shutdown: Shutdown::No,
            out: Output::new(),
        }
    }

    /// Adds the stored stamps of an earlier process. Call this function before any input.
    pub fn with_stamps(mut self, stored: impl IntoIterator<Item = StoredStamp>) -> Self {
        self.jobs.load_stored(stored);
        self
    }

    /// Sets the version that this node announces to the members.
    pub fn with_version(mut self, version: Version) -> Self {
        self.diagnostics.set_version(version);
        self
    }

    /// Sets the host name that this node announces to the members. With `None`, the node announces no host name.
    pub fn with_host_name(mut self, name: Option<HostName>) -> Self {
        self.diagnostics.set_host_name(name);
        self
    }

    /// Sets the preference that this node announces to the members. An idle token rests with the member that has the
    /// highest preference.
    pub fn with_preference(mut self, preference: u8) -> Self {
        self.context.set_preference(preference);
        self
    }

    /// Returns this node's address, or zero bytes if the link was never up.
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
            // The stored stamps have wall-clock times, and the first input brings the first reading of the clock.
            self.jobs.compute_ages(self.context.clock());
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Lease => self.on_lease_expired(),
            Timer::Grade => self.review_grade(),
            Timer::Acknowledge => self.acknowledge(),
            Timer::Take => self.on_take_timeout(),
            Timer::Handover => self.on_handover_due(),
            Timer::Heartbeat => self.on_heartbeat_due(),
            Timer::Waiter => self.on_waiter_timeout(),
            Timer::Answer => self.on_answer_timeout(),
            Timer::Ask => self.on_question_due(),
            Timer::Compare => self.ask_for_table(),
            Timer::Want => self.request_token(),
            Timer::Store => self.on_store_due(),
            Timer::Stamps => self.handle_job_input(JobInput::TimerFired),
            Timer::Locks => self.handle_locks_input(LocksInput::TimerFired),
            Timer::Probe => self.on_probe_due(),
            Timer::Members => self.review_members(),
            Timer::Survey => self.on_survey_due(),
        }
    }

    /// Asks the holder for the members that this node's table lacks. Only nodes of a large ring ask this question.
    fn ask_for_table(&mut self) {
        if self.state() == State::Waiter {
            self.members.ask_for_table(&self.context, &mut self.out);
        }
    }

    /// Applies the rules that depend on the state after the input.
    fn review_after_input(&mut self) {
        // No frame follows LEAVING, so nothing is left to do.
        if self.has_left() {
            return;
        }
        self.diagnostics
            .review_hearing(&self.context, &self.members, &mut self.out);
        self.review_periodically();
        self.review_ring_size();
        self.review_jobs();
        self.review_locks();
        // The locks decide first whether this node may hand the token over.
        self.review_idle_hold();
        // The input may have ended the tenure, and a node that shuts down waits only for the end of its tenure.
        self.leave_if_free();
        self.resume_request();
    }

    fn check_after_input(&self) {
        self.check_invariants();
    }

    /// Looks periodically for changes that no input reports: members became silent, or the clock was set.
    fn review_periodically(&mut self) {
        let (context, out) = (&self.context, &mut self.out);
        let (members, owner) = (&mut self.members, self.known.owner());
        if !(self.diagnostics).review_periodically(context, members, owner, out) {
            return;
        }
        // If all members have this node's profile, no member can be apart, and the medians need no computation.
        if !self.members.is_uniform() {
            self.review_constants();
        }
        if let Some(token) = self.token() {
            self.diagnostics
                .review_clock_lead(&self.context, &mut self.out, token);
        }
    }
}

impl Machine for Lab2 {
    type Peer = ();
    type Net = LinkState;
    type Job = Infallible;
    type Command = Command;
    type Event = Event;
    type Durable = StoredState;

    fn handle_message(&mut self, now: Now, (): (), frame: &[u8], age: Duration) {
        self.advance(now);
        // The driver may have read the clock before earlier frames were answered, and this frame waited meanwhile.
        let age = age + self.context.now().since(now.monotonic);
        // Only two replies to each frame are allowed (`docs/reference/lab2/states.md R6`), so that no frame can start
        // an avalanche.
        self.out.begin_frame_input();
        self.expire_lease();
        self.expire_grade();
        self.receive(frame, age);
        self.review_after_input();
        self.check_after_input();
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        self.advance(now);
        self.out.begin_other_input();
        self.expire_lease();
        self.expire_grade();
        // A command could cause a frame, and no frame may follow LEAVING.
        if self.has_left() {
            return;
        }
        match command {
            Command::WantToken => self.on_work_wanted(),
            Command::WorkDone => self.on_work_done(),
            Command::SetData(data) => self.set_data(&data),
            Command::Confirm => self.ask_to_confirm(),
            Command::Once(request) => self.handle_job_input(JobInput::Begin(request)),
            Command::EndOnce(id, end) => self.handle_job_input(JobInput::End(id, end)),
            Command::TakeLock(request) => self.handle_locks_input(LocksInput::Take(request)),
            Command::ReleaseLock(session) => self.handle_locks_input(LocksInput::Release(session)),
            Command::Pause(pause) => self.set_pause(pause),
            Command::Yield(to) => self.yield_to(to),
            Command::Announce(work) => self.diagnostics.announce(work),
            Command::Forget(mac) => self.forget(mac),
            Command::Adjust(adjustment) => self.adjust(adjustment),
            Command::Survey(request) => self.begin_survey(&request),
            Command::Report(host) => self.report(&host),
            Command::ShutDown => self.shut_down(),
            Command::Leave => self.leave(),
        }
        self.review_after_input();
        self.check_after_input();
    }

    fn handle_link(&mut self, now: Now, link: LinkState) {
        self.advance(now);
        self.out.begin_other_input();
        self.expire_lease();
        self.expire_grade();
        self.on_link_changed(link);
        // Requests may have waited for the link.
        self.review_locks();
        self.check_after_input();
    }

    fn handle_timeout(&mut self, now: Now) {
        self.advance(now);
        self.out.begin_other_input();
        // At a timeout no received frame waits, so the node has really heard nothing. A process that was stalled has
        // frames to read first.
        self.members.update_deafness(&self.context);
        for &timer in Timer::ALL {
            // The timers fire in the order of the enum, because an earlier timer may stop a later timer. For example,
            // an expired lease stops the heartbeat.
            if self.out.take_due(timer, self.context.now()) {
                self.fire(timer);
            }
        }
        self.review_after_input();
        self.check_after_input();
    }

    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: SendOutcome) {
        self.advance(now);
        self.on_sent(ticket, sent);
        // A new token is held once its first frame is sent.
        self.review_locks();
        self.check_after_input();
    }

    fn wants_flush_report(&self) -> bool {
        self.role.tenure().is_some_and(Tenure::awaits_flush)
    }

    fn handle_flushed(&mut self, by: Now) {
        self.advance(by);
        self.on_flushed();
        self.review_jobs();
        self.review_locks();
        self.check_after_input();
    }

    fn handle_stored(&mut self, now: Now, stored: StoreOutcome) {
        self.advance(now);
        self.jobs.on_stored(stored);
        self.on_stored(stored);
        self.review_jobs();
        self.review_locks();
        self.check_after_input();
    }

    fn poll_durable(&mut self) -> Option<StoredState> {
        let may_try = self.known.take_unstored();
        if self.fitness.is_unstored() && !may_try {
            // `on_store_due` asks for the next attempt. A failing disk must not be written to after every input.
            return None;
        }
        let stamp = self.jobs.take_unstored(self.context.clock());
        (may_try || stamp.is_some()).then(|| StoredState {
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
