//! Lab2 as a system of the simulator: its addresses, its frames, and its events.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{ETHERNET_HEADER_LEN, ETHERTYPE, Frame, Kind, Message};
use ring_proto::lab2::{Command, Constants, Event, Grade, Reason, State, StoredState};
use ring_proto::time::nanos;
use ring_runtime::driver::FrameAddressing;
use ring_runtime::driver::frames::MAX_FRAME;

use super::Inspect;
use super::checks::Checks;
use super::exemptions::chain;
use super::frame_token::token_of;
use super::lock_records::{LockRecords, lock_changes};
use super::named_locks::NamedLocks;
use super::node::{AppClaim, MissedEvents, NodeData};
use super::notation::{line, node_of};
use super::outcome::{Rule, Stats};
use super::recorder::Recorder;
use super::schedule::Fault;
use super::settings::FaultKind;
use crate::kernel::queue::index;
use crate::kernel::stats::Count;
use crate::kernel::streams::{ConnectionTable, NoStreams};
use crate::kernel::system::{self, Moment, Route, System};
use crate::kernel::{node, simulation};

/// The maximum number of writes of a state file that are not on the disk.
const UNSYNCED_WRITES_MAX: u32 = 8;

/// In WAITER_TIMEOUTs: the longest lease of a named lock, plus the time until a member without renewals is flagged.
const LEASE_PERIODS: u32 = 6;

/// A simulation of several Lab2 nodes on a segment.
pub type World<M> = simulation::Simulation<Lab2System<M>>;

/// A node on Lab2's segment.
pub(super) type Node<M> = node::Node<Lab2System<M>>;

/// An event of Lab2.
#[derive(Debug)]
pub enum Lab2Event {
    /// The unresponsive station requests the token again.
    Ask,
    /// A node finished the work that has this number.
    Done(u32, u32),
    /// The job run with this number may take its next step.
    JobRun(u32, u32),
    /// The node may ask the members to confirm a tenure, for the work that has this number.
    Confirm(u32, u32),
    /// The program of this session at a node has finished its work under a named lock.
    LockWork(u32, u64),
    /// The guardian of a node sends its next frame.
    LastFrame(u32),
    /// The programs of a dead process have ended.
    ProgramsEnded(u32),
}

/// The state of the whole ring, its checks and counters.
pub struct Lab2System<M> {
    pub(super) checks: Checks,
    pub(super) stats: Stats,
    /// Broadcasts that nodes have sent, by the names of their kinds.
    pub(super) broadcast: BTreeMap<&'static str, u64>,
    pub(super) recorder: Option<Box<dyn Recorder>>,
    pub(super) constants: Rc<Constants>,
    /// The longest WAITER_TIMEOUT of any node.
    pub(super) slowest: Duration,
    /// The nodes that hold a token.
    pub(super) owners: Vec<usize>,
    /// Pairs of nodes. The first node of a pair has the address of the second node.
    pub(super) twins: Vec<(usize, usize)>,
    pub(super) jobs: u32,
    pub(super) named_locks: NamedLocks,
    pub(super) lock_records: LockRecords,
    /// Whether a station requests the token and never takes it.
    pub(super) has_unresponsive_station: bool,
    /// The duration of the work, in nanoseconds, for members that request the token again after their work.
    pub(super) repeated_work: Option<u64>,
    /// The only member that requests the token again; `None` means all members.
    pub(super) repeating_member: Option<usize>,
    /// Whether no fault makes a lease void.
    pub(super) orderly: bool,
    machines: PhantomData<fn() -> M>,
}

impl<M> Lab2System<M> {
    pub(super) fn new(constants: Rc<Constants>) -> Self {
        Self {
            checks: Checks::default(),
            stats: Stats::default(),
            broadcast: BTreeMap::new(),
            recorder: None,
            constants,
            slowest: Duration::ZERO,
            owners: Vec::new(),
            twins: Vec::new(),
            jobs: 0,
            named_locks: NamedLocks::default(),
            lock_records: LockRecords::default(),
            has_unresponsive_station: false,
            repeated_work: None,
            repeating_member: None,
            orderly: false,
            machines: PhantomData,
        }
    }

    pub(super) fn count_fault(&mut self, kind: FaultKind) {
        self.stats.count_fault(kind);
    }

    /// Passes new violations to the recorder.
    pub(super) fn report_new_violations(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            for violation in self.checks.take_unreported() {
                recorder.on_violation(violation);
            }
        }
    }

    /// Voids the promises that members made shortly before `at`, or make later. The promises stay void as long as the
    /// slowest node's promises last.
    pub(super) fn void_promises_from(&mut self, at: u64) {
        let lasts = nanos(self.slowest.max(4 * self.constants.waiter_timeout()));
        // A lock that was granted under such a promise lasts one lease longer than the promise.
        let lease = nanos(self.slowest.max(self.constants.waiter_timeout()) * LEASE_PERIODS);
        let until = at.saturating_add(lasts);
        self.checks.exemptions.void_promises(until);
        self.checks
            .exemptions
            .void_locks_until(until.saturating_add(lease));
    }
}

impl<M: Inspect> System for Lab2System<M> {
    type Machine = M;
    type Streams = NoStreams;
    type Address = MacAddr;
    type Label = Option<&'static str>;
    type Node = NodeData;
    type Addressing = FrameAddressing;
    type Missed = MissedEvents;
    type Event = Lab2Event;
    type Fault = Fault;

    const HEADER_LEN: usize = ETHERNET_HEADER_LEN;
    const MESSAGE_LEN_MAX: usize = MAX_FRAME;
    const FLOODS_DUPLICATES: bool = true;

    fn address(_: usize, _: &NodeData) {}

    fn addressing(_: usize, own: &NodeData) -> FrameAddressing {
        FrameAddressing {
            mac: own.mac,
            ethertype: ETHERTYPE,
        }
    }

    fn listen(_: &Rc<RefCell<ConnectionTable<()>>>, _: usize, _: &NodeData) -> NoStreams {
        NoStreams
    }

    fn is_broadcast(bytes: &[u8], (): ()) -> bool {
        bytes[..6] == MacAddr::BROADCAST.0
    }

    fn route(sim: &World<M>, to: MacAddr) -> Route {
        if to == MacAddr::BROADCAST {
            return Route::All;
        }
        let has_it = |at: usize| sim.nodes.get(at).is_some_and(|node| node.own.mac == to);
        let own = node_of(to).filter(|&at| has_it(at));
        let twins = &sim.system.twins;
        if twins.is_empty() {
            return Route::One(own);
        }
        let twins = twins.iter().map(|&(at, _)| at);
        let others = twins.filter(|&at| has_it(at) && own != Some(at));
        Route::Several(others.chain(own).collect())
    }

    fn on_sent(
        &mut self,
        moment: Moment,
        own: &mut NodeData,
        bytes: &[u8],
        (): (),
    ) -> Option<(MacAddr, Option<&'static str>)> {
        own.seen.replies += 1;
        let Moment { at, node } = moment;
        match Frame::decode(bytes) {
            Ok(frame) => {
                self.checks.check_frame(at, node, &frame, &own.durable);
                let kind = frame.message.kind();
                if let Message::TakeToken { token, .. } = frame.message {
                    // The node gives up its token, even within one loop iteration.
                    own.quorum = None;
                    let ends = |claim: &AppClaim| {
                        token.same_chain(&claim.token) && token.is_stronger_than(&claim.token)
                    };
                    own.claim = own.claim.filter(|claim| !ends(claim));
                }
                own.lock_changes.extend(lock_changes(&frame.message));
                Some((frame.destination, Some(kind.name())))
            }
            Err(error) => {
                let what = error.to_string();
                self.checks.report(at, Some(node), Rule::Valid, what);
                None
            }
        }
    }

    fn on_handshake(bytes: &[u8], (): (), name: &'static str) -> (MacAddr, Option<&'static str>) {
        (destination(bytes), Some(name))
    }

    fn on_carried(
        &mut self,
        leaves: u64,
        from: Option<usize>,
        bytes: &[u8],
        to: MacAddr,
        kind: Option<&'static str>,
    ) {
        self.stats.note_carried(kind);
        if let Some(kind) = kind.filter(|_| to == MacAddr::BROADCAST) {
            *self.broadcast.entry(kind).or_default() += 1;
        }
        self.stats.mix(leaves, bytes);
        if let Some(recorder) = &mut self.recorder {
            recorder.on_sent(Duration::from_nanos(leaves), from, bytes);
        }
    }

    fn on_read(&mut self, moment: Moment, bytes: &[u8], age: Duration) {
        self.stats.delivered += 1;
        if let Some(recorder) = &mut self.recorder {
            recorder.on_read(moment.time(), moment.node, bytes, age);
        }
    }

    fn describe(bytes: &[u8]) -> String {
        line(bytes)
    }

    fn on_forgery(&mut self, moment: Moment, what: String) {
        let Moment { at, node } = moment;
        self.checks.report(at, Some(node), Rule::Forgery, what);
    }

    fn readdress(sim: &mut World<M>, message: &mut system::Message<Self>) {
        sim.readdress(message);
    }

    fn update_destination(message: &mut system::Message<Self>) {
        message.to = destination(&message.bytes);
    }

    fn forge(sim: &mut World<M>, heard: &system::Message<Self>) -> system::Message<Self> {
        sim.forge(heard)
    }

    fn on_corrupted(&mut self, due: u64, sent: &[u8], arrives: &[u8]) {
        let (said, heard) = (token_of(sent), token_of(arrives));
        if heard.is_some() && heard != said {
            for (_, token) in [said, heard].into_iter().flatten() {
                self.checks.exemptions.on_token_corrupted(&token);
            }
        }
        match Frame::decode(arrives).map(|frame| frame.message.kind()) {
            Ok(Kind::Ping | Kind::TokenIsHere | Kind::TokenWasHereRecently) => {
                self.void_promises_from(due);
            }
            Ok(Kind::Locks | Kind::LocksQuestion) => self.checks.exemptions.void_locks(),
            Ok(Kind::Stamps) => self.checks.exemptions.void_stamps(),
            _ => {}
        }
    }

    fn on_event(&mut self, moment: Moment, own: &mut NodeData, event: &Event) {
        let seen = &mut own.seen;
        match *event {
            // A node handles all effects of a frame before it reads the next frame, and the frame's events come after
            // its answers.
            Event::Received { .. } | Event::Dropped { .. } => {
                let replies = std::mem::take(&mut seen.replies);
                let Moment { at, node } = moment;
                self.checks.check_replies(at, node, replies);
                if let Event::Dropped { .. } = event {
                    self.stats.dropped += 1;
                }
            }
            Event::StateChanged {
                from,
                to,
                reason,
                token,
            } => {
                let works = own.job.as_ref().is_some_and(|job| job.begun);
                let is_outdone =
                    matches!(reason, Reason::StrongerToken | Reason::BetterBackedOwner)
                        || reason == Reason::Apart && works;
                if from == State::Owner && is_outdone {
                    let outdone = own.quorum.and(token);
                    seen.outdone = seen.outdone.or(outdone);
                } else if from == State::Owner {
                    own.quorum = None;
                }
                if reason == Reason::LeaseExpired {
                    self.stats.counters.expired_leases += 1;
                }
                if to == State::Owner && reason == Reason::Elected {
                    self.stats.counters.elections += 1;
                    let Moment { at, node } = moment;
                    self.checks.check_election(at, node, own.knew, &own.durable);
                }
            }
            // A loss to a stronger token is checked after the loop iteration.
            Event::GradeChanged { grade, .. }
                if grade != Grade::Quorum && seen.outdone.is_none() =>
            {
                own.quorum = None;
            }
            // An elected node that cannot send stands for election again. It knows the token that it has stored, and
            // sends this token in its answers.
            Event::TransmitFailed {
                kind: Kind::TokenIsHere,
            } if own.held.is_none() => {
                let Moment { at, node } = moment;
                self.checks.check_election(at, node, own.knew, &own.durable);
            }
            Event::HandoverFailed { minted, .. } => {
                self.stats.counters.failed_hand_overs += 1;
                if minted.is_some() {
                    // The giver had already given up the token that it offered, even within one loop iteration.
                    own.claim = None;
                }
            }
            Event::LockGranted { .. } | Event::LockRefused { .. } | Event::LockLost { .. } => {
                own.lock_events.push(*event);
            }
            Event::MemberSilent { .. } => self.stats.counters.silent += 1,
            Event::MemberForgotten { .. } => self.stats.counters.forgotten += 1,
            Event::MemberAdded { members, .. } => seen.grown = members,
            _ => {}
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.on_event(moment.time(), moment.node, event);
        }
    }

    fn store(own: &mut NodeData, durable: &StoredState) {
        // The daemon does not sync its state file, so a power loss undoes the last writes.
        own.unsynced += 1;
        if own.unsynced > UNSYNCED_WRITES_MAX {
            own.unsynced = 0;
            own.synced = own.durable;
        }
        if durable.known.as_ref().map(chain) != own.durable.known.as_ref().map(chain) {
            own.knew = own.durable.known.map_or(0, |known| known.progress);
        }
        own.durable = StoredState {
            stamp: None,
            ..*durable
        };
        if let Some(stamp) = durable.stamp {
            own.stamps.retain(|stored| stored.place != stamp.place);
            own.stamps.push(stamp);
        }
    }

    fn count(&mut self, what: Count) {
        self.stats.count(what);
    }

    fn on_storm(&mut self, now: u64, sent: u64) {
        let what = format!("{sent} in less than a second");
        self.checks.report(now, None, Rule::Storm, what);
    }

    fn can_end(&self) -> bool {
        self.checks.findings.is_enough()
    }

    fn on_system_event(sim: &mut World<M>, event: Lab2Event) {
        match event {
            Lab2Event::Ask => sim.send_want_token(),
            Lab2Event::Done(at, job) => sim.finish_work(index(at), job),
            Lab2Event::Confirm(at, job) => sim.ask_members(index(at), job),
            Lab2Event::LockWork(at, session) => sim.finish_lock(index(at), session),
            Lab2Event::LastFrame(at) => sim.send_last_frame(index(at)),
            Lab2Event::ProgramsEnded(at) => sim.end_programs(index(at)),
            Lab2Event::JobRun(at, job_run) => sim.step_job_run(index(at), job_run),
        }
    }

    fn apply_action(sim: &mut World<M>, fault: &Fault) {
        sim.act(fault);
    }

    fn check_node(sim: &mut World<M>, at: usize) {
        sim.look_at(at);
    }

    fn on_resumed(sim: &mut World<M>, at: usize, missed: MissedEvents) {
        if missed.moved {
            sim.report_link(at);
        }
        if missed.done {
            sim.nodes[at].own.job = None;
            sim.command(at, Command::WorkDone);
        }
    }

    fn after_event(&mut self) {
        self.report_new_violations();
    }
}

/// Returns the destination of a frame.
fn destination(bytes: &[u8]) -> MacAddr {
    bytes
        .first_chunk()
        .map_or(MacAddr::BROADCAST, |to| MacAddr(*to))
}
