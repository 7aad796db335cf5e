//! Lab2 as the kernel sees it: its addresses, its frames, and what becomes of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{ETHERNET_HEADER_LEN, Frame, Kind, Message};
use ring_proto::lab2::{Command, Constants, Durable, Event, Grade, Reason, State};
use ring_proto::time::nanos;
use ring_runtime::driver::frames::MAX_FRAME;

use super::Subject;
use super::checks::Checks;
use super::claim::claim;
use super::exempt::chain;
use super::node::{Claim, Missed, Own};
use super::notation::node_of;
use super::outcome::{Rule, Stats};
use super::plan::Fault;
use super::record::Record;
use super::settings::FaultKind;
use crate::kernel::queue::index;
use crate::kernel::stats::Count;
use crate::kernel::streams::{Fabric, NoStreams};
use crate::kernel::system::{Moment, Route, System};
use crate::kernel::{node, world};

/// After so many writes of a state file an earlier one of them is on the disk.
const UNSYNCED: u32 = 8;

/// Several machines on a segment. Everything follows from the seed and from what is called.
pub type World<M> = world::World<Ring<M>>;

/// A node on Lab2's segment.
pub(super) type Node<M> = node::Node<Ring<M>>;

/// What happens on Lab2's segment only.
#[derive(Debug)]
pub enum Due {
    /// The station that never takes the token asks for it again.
    Ask,
    /// The work that a node wanted the token for is done: its job of this number.
    Done(u32, u32),
    /// A node's errand may go on: the one of this number.
    Errand(u32, u32),
    /// The members may be asked to confirm a tenure, for a node's job of this number.
    Confirm(u32, u32),
}

/// What is known of the whole ring, and what is written down of a run.
pub struct Ring<M> {
    pub(super) checks: Checks,
    pub(super) stats: Stats,
    /// Frames to all that nodes have sent, by the names of their kinds.
    pub(super) broadcast: BTreeMap<&'static str, u64>,
    pub(super) record: Option<Box<dyn Record>>,
    pub(super) constants: Rc<Constants>,
    /// The longest WAITER_TIMEOUT that a node was told.
    pub(super) slowest: Duration,
    /// Who believes to hold a token.
    pub(super) owners: Vec<usize>,
    /// Who has whose address.
    pub(super) twins: Vec<(usize, usize)>,
    pub(super) jobs: u32,
    /// There is a station that asks for the token and never takes it.
    pub(super) is_asked: bool,
    /// Who has done its work wants the token again at once, for so much more, in nanoseconds.
    pub(super) again: Option<u64>,
    /// Only this one does.
    pub(super) again_only: Option<usize>,
    /// Nothing goes wrong that voids a lease.
    pub(super) orderly: bool,
    machines: PhantomData<fn() -> M>,
}

impl<M> Ring<M> {
    pub(super) fn new(constants: Rc<Constants>) -> Self {
        Self {
            checks: Checks::default(),
            stats: Stats::default(),
            broadcast: BTreeMap::new(),
            record: None,
            constants,
            slowest: Duration::ZERO,
            owners: Vec::new(),
            twins: Vec::new(),
            jobs: 0,
            is_asked: false,
            again: None,
            again_only: None,
            orderly: false,
            machines: PhantomData,
        }
    }

    pub(super) fn met(&mut self, kind: FaultKind) {
        self.stats.note_met(kind);
    }

    /// Tells whoever records the run what was broken since.
    pub(super) fn tell_broken(&mut self) {
        if let Some(record) = &mut self.record {
            for violation in self.checks.untold() {
                record.broken(violation);
            }
        }
    }

    /// What is promised from `at` on, or was not long before, counts for nothing: for as long as the
    /// slowest node's promises last.
    pub(super) fn void_promises_from(&mut self, at: u64) {
        let lasts = nanos(self.slowest.max(4 * self.constants.waiter_timeout()));
        self.checks.exempt.void_promises(at.saturating_add(lasts));
    }
}

impl<M: Subject> System for Ring<M> {
    type Machine = M;
    type Streams = NoStreams;
    type Address = MacAddr;
    type Label = Option<&'static str>;
    type Node = Own;
    type Missed = Missed;
    type Event = Due;
    type Fault = Fault;

    const HEADER_LEN: usize = ETHERNET_HEADER_LEN;
    const LONGEST: usize = MAX_FRAME;
    const FLOODED: bool = true;

    fn address(_: usize, _: &Own) {}

    fn listen(_: &Rc<RefCell<Fabric<()>>>, _: usize, _: &Own) -> NoStreams {
        NoStreams
    }

    fn is_broadcast(bytes: &[u8], (): ()) -> bool {
        bytes[..6] == MacAddr::BROADCAST.0
    }

    fn route(world: &World<M>, to: MacAddr) -> Route {
        if to == MacAddr::BROADCAST {
            return Route::All;
        }
        let has_it = |at: usize| world.nodes.get(at).is_some_and(|node| node.own.mac == to);
        let own = node_of(to).filter(|&at| has_it(at));
        let twins = &world.system.twins;
        if twins.is_empty() {
            return Route::One(own);
        }
        let twins = twins.iter().map(|&(at, _)| at);
        let others = twins.filter(|&at| has_it(at) && own != Some(at));
        Route::Several(others.chain(own).collect())
    }

    fn sent(
        &mut self,
        moment: Moment,
        own: &mut Own,
        bytes: &[u8],
        (): (),
    ) -> Option<(MacAddr, Option<&'static str>)> {
        own.seen.replies += 1;
        let Moment { at, node } = moment;
        match Frame::decode(bytes) {
            Ok(frame) => {
                self.checks.told(at, node, &frame, &own.durable);
                let kind = frame.message.kind();
                if let Message::TakeToken { token, .. } = frame.message {
                    // It lets go of its token, be it within one turn.
                    own.quorum = None;
                    let ends = |claim: &Claim| {
                        token.same_chain(&claim.token) && token.is_stronger_than(&claim.token)
                    };
                    own.claim = own.claim.filter(|claim| !ends(claim));
                }
                Some((frame.destination, Some(kind.name())))
            }
            Err(error) => {
                let what = error.to_string();
                self.checks.broken(at, Some(node), Rule::Valid, what);
                None
            }
        }
    }

    fn carried(
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
        if let Some(record) = &mut self.record {
            record.sent(Duration::from_nanos(leaves), from, bytes);
        }
    }

    fn heard(&mut self, moment: Moment, bytes: &[u8], age: Duration) {
        self.stats.delivered += 1;
        if let Some(record) = &mut self.record {
            record.heard(moment.time(), moment.node, bytes, age);
        }
    }

    fn corrupted(&mut self, due: u64, sent: &[u8], arrives: &[u8]) {
        let (said, heard) = (claim(sent), claim(arrives));
        if heard.is_some() && heard != said {
            for (_, token) in [said, heard].into_iter().flatten() {
                self.checks.exempt.corrupt(&token);
            }
        }
        match Frame::decode(arrives).map(|frame| frame.message.kind()) {
            Ok(Kind::Ping | Kind::TokenIsHere | Kind::TokenWasHereRecently) => {
                self.void_promises_from(due);
            }
            Ok(Kind::Stamps) => self.checks.exempt.void_stamps(),
            _ => {}
        }
    }

    fn observed(&mut self, moment: Moment, own: &mut Own, event: &Event) {
        let seen = &mut own.seen;
        match *event {
            // All that one frame brings about is drained before the next is handled, and its
            // events after what it was answered with.
            Event::Received { .. } | Event::Dropped { .. } => {
                let replies = std::mem::take(&mut seen.replies);
                let Moment { at, node } = moment;
                self.checks.replies(at, node, replies);
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
                let is_outdone = matches!(reason, Reason::StrongerToken | Reason::Outranked)
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
                    self.checks.elected(at, node, own.knew, &own.durable);
                }
            }
            // What it loses because it is outdone is looked at when the turn is over.
            Event::GradeChanged { grade, .. }
                if grade != Grade::Quorum && seen.outdone.is_none() =>
            {
                own.quorum = None;
            }
            // Who is elected and cannot say so stands again, but knows the token that it has stored, and answers with it.
            Event::TransmitFailed {
                kind: Kind::TokenIsHere,
            } if own.held.is_none() => {
                let Moment { at, node } = moment;
                self.checks.elected(at, node, own.knew, &own.durable);
            }
            Event::HandOverFailed { minted, .. } => {
                self.stats.counters.failed_hand_overs += 1;
                if minted.is_some() {
                    // It had let go of what it had offered, be it within one turn.
                    own.claim = None;
                }
            }
            Event::MemberSilent { .. } => self.stats.counters.silent += 1,
            Event::MemberForgotten { .. } => self.stats.counters.forgotten += 1,
            Event::MemberAdded { members, .. } => seen.grown = members,
            _ => {}
        }
        if let Some(record) = &mut self.record {
            record.told(moment.time(), moment.node, event);
        }
    }

    fn stored(own: &mut Own, durable: &Durable) {
        own.unsynced += 1;
        if own.unsynced > UNSYNCED {
            own.unsynced = 0;
            own.synced = own.durable;
        }
        if durable.known.as_ref().map(chain) != own.durable.known.as_ref().map(chain) {
            own.knew = own.durable.known.map_or(0, |known| known.progress);
        }
        own.durable = Durable {
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

    fn storm(&mut self, now: u64, sent: u64) {
        let what = format!("{sent} in less than a second");
        self.checks.broken(now, None, Rule::Storm, what);
    }

    fn is_enough(&self) -> bool {
        self.checks.found.is_enough()
    }

    fn happen(world: &mut World<M>, event: Due) {
        match event {
            Due::Ask => world.ask_again(),
            Due::Done(at, job) => world.work_done(index(at), job),
            Due::Confirm(at, job) => world.ask_for_quorum(index(at), job),
            Due::Errand(at, errand) => world.go_on_with_errand(index(at), errand),
        }
    }

    fn act(world: &mut World<M>, fault: &Fault) {
        world.act(fault);
    }

    fn look_at(world: &mut World<M>, at: usize) {
        world.look_at(at);
    }

    fn resumed(world: &mut World<M>, at: usize, missed: Missed) {
        if missed.moved {
            world.look_at_link(at);
        }
        if missed.done {
            world.nodes[at].own.job = None;
            world.command(at, Command::WorkDone);
        }
    }

    fn after_event(&mut self) {
        self.tell_broken();
    }
}
