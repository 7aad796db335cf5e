//! Elections: three methods behind one interface, and what belongs to the node whichever it is (`docs/board.md`,
//! section 8).

mod bully;
mod chang_roberts;
mod memory;
mod ring_based;
mod victory;

use std::time::Duration;

use ring_codec::andrews::Method;

use bully::Bully;
use chang_roberts::ChangRoberts;
use memory::Memory;
use ring_based::RingBased;
pub(crate) use victory::Victory;

use crate::andrews::database::View;
use crate::andrews::message::Ballot;
use crate::andrews::{NodeList, Reason};
use crate::throttle::Throttle;
use crate::time::Instant;

/// What an election sees of the node.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) own: u32,
    pub(crate) list: &'a NodeList,
    pub(crate) view: &'a View,
    pub(crate) now: Instant,
    /// T1.
    pub(crate) t1: Duration,
}

/// What an election wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// To the successor.
    Ring(Ballot),
    /// To one node.
    Tell(u32, Ballot),
    /// To all members with a larger id.
    TellLarger(Ballot),
    /// To all other members.
    TellAll(Ballot),
    /// This node has won.
    Won,
    /// A result has come: the rows are read.
    Result(u32),
    /// The message has no effect.
    Drop(Reason),
}

/// One method of election.
trait Handler {
    fn method(&self) -> Method;
    /// Starts an election.
    fn start(&mut self, scene: Scene<'_>, memory: &mut Memory, steps: &mut Vec<Step>);
    /// A message of this method, from a node.
    fn handle(
        &mut self,
        from: u32,
        ballot: Ballot,
        scene: Scene<'_>,
        memory: &mut Memory,
        steps: &mut Vec<Step>,
    );
    /// Time has gone by.
    fn time_out(&mut self, scene: Scene<'_>, memory: &mut Memory, steps: &mut Vec<Step>);
    /// When that matters.
    fn due(&self) -> Option<Instant>;
    /// Whether there is no result.
    fn is_ongoing(&self) -> bool;
    /// The node has another successor.
    fn successor_changed(&mut self);
}

/// The handler in hand.
#[derive(Debug)]
enum Current {
    RingBased(RingBased),
    ChangRoberts(ChangRoberts),
    Bully(Bully),
}

impl Current {
    fn fresh(method: Method) -> Self {
        match method {
            Method::RingBased => Self::RingBased(RingBased::default()),
            Method::ChangRoberts => Self::ChangRoberts(ChangRoberts::default()),
            Method::Bully => Self::Bully(Bully::default()),
        }
    }

    fn get(&self) -> &dyn Handler {
        match self {
            Self::RingBased(handler) => handler,
            Self::ChangRoberts(handler) => handler,
            Self::Bully(handler) => handler,
        }
    }

    fn get_mut(&mut self) -> &mut dyn Handler {
        match self {
            Self::RingBased(handler) => handler,
            Self::ChangRoberts(handler) => handler,
            Self::Bully(handler) => handler,
        }
    }
}

/// Elections as a node takes part in them.
#[derive(Debug)]
pub(crate) struct Elections {
    own_method: Method,
    current: Current,
    memory: Memory,
    /// Starts by the rule that one is due.
    due: Throttle,
    /// Since when this node is the largest member and the row names another.
    outranks_since: Option<Instant>,
}

impl Elections {
    pub(crate) fn new(own_method: Method) -> Self {
        Self {
            own_method,
            current: Current::fresh(own_method),
            memory: Memory::default(),
            due: Throttle::default(),
            outranks_since: None,
        }
    }

    pub(crate) fn method(&self) -> Method {
        self.current.get().method()
    }

    pub(crate) fn is_ongoing(&self) -> bool {
        self.current.get().is_ongoing()
    }

    pub(crate) fn timeout(&self) -> Option<Instant> {
        self.current.get().due()
    }

    /// Starts one of the node's own method.
    pub(crate) fn start(&mut self, scene: Scene<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        self.current = Current::fresh(self.own_method);
        let handler = self.current.get_mut();
        handler.start(scene, &mut self.memory, &mut steps);
        steps
    }

    /// A message, which another method's handler gives way to.
    pub(crate) fn handle(&mut self, from: u32, ballot: Ballot, scene: Scene<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        if ballot.method() != self.method() {
            self.current = Current::fresh(ballot.method());
        }
        let handler = self.current.get_mut();
        handler.handle(from, ballot, scene, &mut self.memory, &mut steps);
        steps
    }

    pub(crate) fn time_out(&mut self, scene: Scene<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        let handler = self.current.get_mut();
        if handler.due().is_some_and(|due| due <= scene.now) {
            handler.time_out(scene, &mut self.memory, &mut steps);
        }
        steps
    }

    pub(crate) fn successor_changed(&mut self) {
        self.current.get_mut().successor_changed();
    }

    /// The node is out of the ring: its election is.
    pub(crate) fn leave(&mut self) {
        self.current = Current::fresh(self.own_method);
        self.outranks_since = None;
    }

    /// Whether one is due, by the rows; if so it counts as started.
    pub(crate) fn is_due(&mut self, scene: Scene<'_>, is_new: bool) -> bool {
        let Scene {
            own, view, now, t1, ..
        } = scene;
        let period = t1.saturating_mul(2);
        let is_named = view.seat.id == Some(own);
        let outranks = view.largest() == Some(own) && !is_named;
        if outranks {
            self.outranks_since.get_or_insert(now);
        } else {
            self.outranks_since = None;
        }
        let outranks_long = self
            .outranks_since
            .is_some_and(|since| now.since(since) >= period);
        let is_larger = view.seat.id.is_none_or(|coordinator| coordinator < own);
        let is_wanted = is_named && view.acting || outranks_long || is_new && is_larger;
        is_wanted && self.due.allow(now, period)
    }
}

/// A result of a ring method: sent on once per id and T1, by whichever method and handler.
fn send_result(
    method: Method,
    id: u32,
    scene: Scene<'_>,
    memory: &mut Memory,
    steps: &mut Vec<Step>,
) {
    if scene.list.address(id).is_none() {
        return steps.push(Step::Drop(Reason::UnknownNode));
    }
    if !memory.results.note(id, scene.now, scene.t1) {
        return steps.push(Step::Drop(Reason::Repeated));
    }
    steps.push(Step::Ring(Ballot::Coordinator(method, id)));
    if id == scene.own {
        steps.push(Step::Won);
    }
}
