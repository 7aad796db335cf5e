//! Elections (`docs/board/protocol/elections.md`, rules E): three methods behind one interface, and the state that
//! belongs to the node. Start with `handler.rs`, the interface.

mod bully;
mod chang_roberts;
mod handler;
mod memory;
mod ring_based;
mod victory;

use ring_codec::andrews::Method;

pub(crate) use handler::{Action, NodeView};
pub(crate) use victory::Victory;

use super::message::OwnedElection;
use crate::throttle::Throttle;
use crate::time::Instant;
use bully::Bully;
use chang_roberts::ChangRoberts;
use handler::{Context, Handler};
use memory::Memory;
use ring_based::RingBased;

/// The elections in which a node takes part.
#[derive(Debug)]
pub(crate) struct Elections {
    own_method: Method,
    current: Box<dyn Handler>,
    memory: Memory,
    /// Limits how often the node starts an election after a look or as a new member.
    due: Throttle,
    /// The time at which this node became the largest member although the row names a different node.
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
        self.deadline().is_some()
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.current.due()
    }

    /// Starts an election with the node's own method.
    pub(crate) fn start(&mut self, node: NodeView<'_>) -> Vec<Action> {
        // The state of an earlier election must not end this election.
        self.current = handler_of(self.own_method);
        self.call(node, |handler, context| handler.start(context))
    }

    /// Handles a message. If the message belongs to a different method, it replaces the handler.
    pub(crate) fn on_message(
        &mut self,
        from: u32,
        election: OwnedElection,
        node: NodeView<'_>,
    ) -> Vec<Action> {
        if election.method() != self.method() {
            // Nodes may start elections with different methods. Each election must be able to end.
            self.current = handler_of(election.method());
        }
        self.call(node, |handler, context| {
            handler.on_message(from, election, context);
        })
    }

    pub(crate) fn on_timeout(&mut self, node: NodeView<'_>) -> Vec<Action> {
        if self.deadline().is_none_or(|due| due > node.now) {
            return Vec::new();
        }
        self.call(node, |handler, context| handler.on_timeout(context))
    }

    fn call(
        &mut self,
        node: NodeView<'_>,
        call: impl FnOnce(&mut dyn Handler, &mut Context<'_>),
    ) -> Vec<Action> {
        let mut context = Context {
            node,
            memory: &mut self.memory,
            actions: Vec::new(),
        };
        call(&mut *self.current, &mut context);
        context.actions
    }

    pub(crate) fn on_successor_changed(&mut self) {
        self.current.on_successor_changed();
    }

    /// Ends the election, because the node is no longer in the ring.
    pub(crate) fn reset(&mut self) {
        self.current = handler_of(self.own_method);
        self.outranks_since = None;
    }

    /// Whether the rows ask for an election. If the function returns `true`, it also records the start of the election.
    pub(crate) fn take_due(&mut self, node: NodeView<'_>, is_new: bool) -> bool {
        let (own, now) = (node.own, node.now);
        let period = node.t1.saturating_mul(2);
        let is_named = node.coordinator == Some(own);
        let outranks = node.largest() == Some(own) && !is_named;
        // A larger node that has just joined appears in the rows before its first election ends. It gets the time to
        // finish that election.
        if outranks {
            self.outranks_since.get_or_insert(now);
        } else {
            self.outranks_since = None;
        }
        let since = self.outranks_since;
        let outranks_long = since.is_some_and(|since| now.since(since) >= period);
        let is_larger = node.coordinator.is_none_or(|it| it < own);
        // An acting coordinator has claimed without an election, so it must start one.
        let is_wanted = is_named && node.is_acting || outranks_long || is_new && is_larger;
        is_wanted && self.due.try_take(now, period)
    }
}

fn handler_of(method: Method) -> Box<dyn Handler> {
    match method {
        Method::RingBased => Box::new(RingBased::default()),
        Method::ChangRoberts => Box::new(ChangRoberts::default()),
        Method::Bully => Box::new(Bully::default()),
    }
}
