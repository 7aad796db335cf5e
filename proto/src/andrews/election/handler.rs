//! What the methods of election share: their interface, what they see, and what they want done.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use ring_codec::andrews::Method;

use super::memory::Memory;
use crate::andrews::message::Ballot;
use crate::andrews::{NodeList, Reason};
use crate::time::Instant;

/// What an election sees of the node.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub own: u32,
    pub list: &'a NodeList,
    /// Members and their successors.
    pub members: &'a BTreeMap<u32, u32>,
    pub coordinator: Option<u32>,
    pub is_acting: bool,
    pub now: Instant,
    /// T1.
    pub t1: Duration,
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
pub(super) trait Handler: Debug + Send {
    fn method(&self) -> Method;
    /// Starts an election.
    fn start(&mut self, turn: &mut Turn<'_>);
    /// A message of this method, from a node.
    fn handle(&mut self, from: u32, ballot: Ballot, turn: &mut Turn<'_>);
    /// Time has gone by.
    fn time_out(&mut self, turn: &mut Turn<'_>);
    /// When that matters: as long as there is no result.
    fn due(&self) -> Option<Instant>;
    /// The node has another successor.
    fn successor_changed(&mut self) {}
}

/// What a handler is called with, and what it wants done.
pub(super) struct Turn<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) memory: &'a mut Memory,
    pub(super) steps: Vec<Step>,
}

impl Scene<'_> {
    pub(super) fn largest(&self) -> Option<u32> {
        self.members.last_key_value().map(|(&id, _)| id)
    }

    pub(super) fn lists(&self, id: u32) -> bool {
        self.list.address(id).is_some()
    }
}

impl Turn<'_> {
    /// How long a result is waited for.
    pub(super) fn result_due(&self) -> Instant {
        self.scene.now + self.scene.t1 * 2
    }

    pub(super) fn want(&mut self, step: Step) {
        self.steps.push(step);
    }

    pub(super) fn drop(&mut self, reason: Reason) {
        self.want(Step::Drop(reason));
    }

    /// A result of a ring method: sent on once per id and T1, by whichever method and handler.
    pub(super) fn send_result(&mut self, method: Method, id: u32) {
        let scene = self.scene;
        if !scene.lists(id) {
            return self.drop(Reason::UnknownNode);
        }
        if !self.memory.results.note(id, scene.now, scene.t1) {
            return self.drop(Reason::Repeated);
        }
        self.want(Step::Ring(Ballot::Coordinator(method, id)));
        if id == scene.own {
            self.want(Step::Won);
        }
    }
}
