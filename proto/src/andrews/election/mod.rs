//! Elections: three methods behind one interface, and what belongs to the node whichever it is (`docs/board.md`,
//! section 8).

mod bully;
mod chang_roberts;
mod handler;
mod memory;
mod ring_based;
mod victory;

use ring_codec::andrews::Method;

pub(crate) use handler::{Scene, Step};
pub(crate) use victory::Victory;

use super::message::Ballot;
use crate::throttle::Throttle;
use crate::time::Instant;
use bully::Bully;
use chang_roberts::ChangRoberts;
use handler::{Handler, Turn};
use memory::Memory;
use ring_based::RingBased;

/// Elections as a node takes part in them.
#[derive(Debug)]
pub(crate) struct Elections {
    own_method: Method,
    current: Box<dyn Handler>,
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
            current: handler_of(own_method),
            memory: Memory::default(),
            due: Throttle::default(),
            outranks_since: None,
        }
    }

    pub(crate) fn method(&self) -> Method {
        self.current.method()
    }

    pub(crate) fn is_ongoing(&self) -> bool {
        self.timeout().is_some()
    }

    pub(crate) fn timeout(&self) -> Option<Instant> {
        self.current.due()
    }

    /// Starts one of the node's own method.
    pub(crate) fn start(&mut self, scene: Scene<'_>) -> Vec<Step> {
        self.current = handler_of(self.own_method);
        self.call(scene, |handler, turn| handler.start(turn))
    }

    /// A message, which another method's handler gives way to.
    pub(crate) fn handle(&mut self, from: u32, ballot: Ballot, scene: Scene<'_>) -> Vec<Step> {
        if ballot.method() != self.method() {
            self.current = handler_of(ballot.method());
        }
        self.call(scene, |handler, turn| handler.handle(from, ballot, turn))
    }

    pub(crate) fn time_out(&mut self, scene: Scene<'_>) -> Vec<Step> {
        if self.timeout().is_none_or(|due| due > scene.now) {
            return Vec::new();
        }
        self.call(scene, |handler, turn| handler.time_out(turn))
    }

    fn call(
        &mut self,
        scene: Scene<'_>,
        call: impl FnOnce(&mut dyn Handler, &mut Turn<'_>),
    ) -> Vec<Step> {
        let mut turn = Turn {
            scene,
            memory: &mut self.memory,
            steps: Vec::new(),
        };
        call(&mut *self.current, &mut turn);
        turn.steps
    }

    pub(crate) fn successor_changed(&mut self) {
        self.current.successor_changed();
    }

    /// The node is out of the ring: its election is.
    pub(crate) fn leave(&mut self) {
        self.current = handler_of(self.own_method);
        self.outranks_since = None;
    }

    /// Whether one is due, by the rows; if so it counts as started.
    pub(crate) fn is_due(&mut self, scene: Scene<'_>, is_new: bool) -> bool {
        let (own, now) = (scene.own, scene.now);
        let period = scene.t1.saturating_mul(2);
        let is_named = scene.coordinator == Some(own);
        let outranks = scene.largest() == Some(own) && !is_named;
        if outranks {
            self.outranks_since.get_or_insert(now);
        } else {
            self.outranks_since = None;
        }
        let since = self.outranks_since;
        let outranks_long = since.is_some_and(|since| now.since(since) >= period);
        let is_larger = scene.coordinator.is_none_or(|it| it < own);
        let is_wanted = is_named && scene.is_acting || outranks_long || is_new && is_larger;
        is_wanted && self.due.allow(now, period)
    }
}

fn handler_of(method: Method) -> Box<dyn Handler> {
    match method {
        Method::RingBased => Box::new(RingBased::default()),
        Method::ChangRoberts => Box::new(ChangRoberts::default()),
        Method::Bully => Box::new(Bully::default()),
    }
}
