//! The interface of the three methods, their input and their output.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use ring_codec::andrews::Method;

use super::memory::Memory;
use crate::andrews::message::OwnedElection;
use crate::andrews::{NodeList, Reason};
use crate::time::Instant;

/// The state of the node that an election may use.
#[derive(Clone, Copy)]
pub(crate) struct NodeView<'a> {
    pub own: u32,
    pub list: &'a NodeList,
    /// The members with their successors.
    pub members: &'a BTreeMap<u32, u32>,
    pub coordinator: Option<u32>,
    pub is_acting: bool,
    pub now: Instant,
    /// T1, the time limit for an answer.
    pub t1: Duration,
}

/// An action that the node must take for an election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    SendToSuccessor(OwnedElection),
    /// Sends to one node.
    SendTo(u32, OwnedElection),
    /// Sends the message to all members with a larger id.
    SendToLarger(OwnedElection),
    /// Sends the message to all other members.
    SendToOthers(OwnedElection),
    /// This node has won.
    Won,
    /// A result arrived, so the node reads the rows.
    ReadRows(u32),
    /// The message is dropped.
    Drop(Reason),
}

pub(super) trait Handler: Debug + Send {
    fn method(&self) -> Method;
    fn start(&mut self, context: &mut Context<'_>);
    fn on_message(&mut self, from: u32, election: OwnedElection, context: &mut Context<'_>);
    /// Handles the timeout that [`due`](Self::due) returns.
    fn on_timeout(&mut self, context: &mut Context<'_>);
    /// Returns the time of the next timeout, or `None` if the handler waits for no messages.
    fn due(&self) -> Option<Instant>;
    fn on_successor_changed(&mut self) {}
}

/// The arguments of a handler, and the actions that the handler requests.
pub(super) struct Context<'a> {
    pub(super) node: NodeView<'a>,
    pub(super) memory: &'a mut Memory,
    pub(super) actions: Vec<Action>,
}

impl NodeView<'_> {
    pub(super) fn largest(&self) -> Option<u32> {
        self.members.last_key_value().map(|(&id, _)| id)
    }

    pub(super) fn lists(&self, id: u32) -> bool {
        self.list.address(id).is_some()
    }
}

impl Context<'_> {
    /// Returns the time at which a missing result becomes late.
    pub(super) fn result_due(&self) -> Instant {
        // Twice T1, because first the election and then its result must arrive.
        self.node.now + self.node.t1 * 2
    }

    pub(super) fn push_action(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(super) fn drop_message(&mut self, reason: Reason) {
        self.push_action(Action::Drop(reason));
    }

    /// Forwards a result of a ring method. Each id is forwarded at most once per T1. Results that a different method or
    /// handler forwarded count too.
    pub(super) fn send_result(&mut self, method: Method, id: u32) {
        let node = self.node;
        // No node could reach an unlisted coordinator, so its result is forged or comes from another list.
        if !node.lists(id) {
            return self.drop_message(Reason::UnknownNode);
        }
        // Without this limit, two results would follow each other round the ring indefinitely. At each node, the other
        // result was forwarded last, so each result would count as new.
        if !self.memory.results.record_if_due(id, node.now, node.t1) {
            return self.drop_message(Reason::Repeated);
        }
        self.push_action(Action::SendToSuccessor(OwnedElection::Coordinator(
            method, id,
        )));
        if id == node.own {
            self.push_action(Action::Won);
        }
    }
}
