//! BULLY: a node wins if no larger node answers it.

use ring_codec::andrews::Method;

use super::handler::{Action, Context, Handler};
use crate::andrews::Reason;
use crate::andrews::message::OwnedElection;
use crate::time::Instant;

/// The kind of message that the node waits for.
#[derive(Debug, Clone, Copy, Default)]
enum Phase {
    #[default]
    Idle,
    /// The node waits for an OK of a larger node.
    Asking(Instant),
    /// The node waits for COORDINATOR of a larger node.
    Yielding(Instant),
}

#[derive(Debug, Default)]
pub(crate) struct Bully {
    phase: Phase,
}

impl Handler for Bully {
    fn method(&self) -> Method {
        Method::Bully
    }

    fn start(&mut self, context: &mut Context<'_>) {
        self.begin(context);
    }

    fn on_message(&mut self, from: u32, election: OwnedElection, context: &mut Context<'_>) {
        let node = context.node;
        match election {
            // A larger node that is alive wins without this node's OK.
            OwnedElection::Bully if from > node.own => context.drop_message(Reason::Larger),
            OwnedElection::Bully => {
                // Without an OK the sender would win too, even while this node waits for a larger node that is dead.
                context.push_action(Action::SendTo(from, OwnedElection::Ok));
                if matches!(self.phase, Phase::Idle) {
                    self.begin_again(context);
                }
            }
            OwnedElection::Ok => match self.phase {
                Phase::Asking(_) if from > node.own => {
                    // The larger node now runs its own election, whose result ends this wait.
                    self.phase = Phase::Yielding(context.result_due());
                }
                _ => context.drop_message(Reason::Unasked),
            },
            // A forged or misdirected result must not end an election.
            OwnedElection::Coordinator(_, id) if id != from => {
                context.drop_message(Reason::NotItself);
            }
            OwnedElection::Coordinator(_, id) => {
                self.phase = Phase::Idle;
                // A smaller node won although this larger node is alive, so a message was lost.
                if id < node.own && node.members.contains_key(&id) {
                    self.begin_again(context);
                }
                context.push_action(Action::ReadRows(id));
            }
            // A message of another method has replaced this handler before it arrives here.
            _ => {}
        }
    }

    fn on_timeout(&mut self, context: &mut Context<'_>) {
        match self.phase {
            Phase::Idle => {}
            Phase::Asking(_) => self.win(context),
            // The larger node answered, but died before it won.
            Phase::Yielding(_) => self.begin(context),
        }
    }

    fn due(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle => None,
            Phase::Asking(until) | Phase::Yielding(until) => Some(until),
        }
    }
}

impl Bully {
    fn begin(&mut self, context: &mut Context<'_>) {
        let node = context.node;
        // Each start counts for the limit, so that messages do not start another election right after it.
        context.memory.bully.record(node.now);
        // Without a larger member no OK can come, so the node does not wait for T1.
        if node.largest().is_none_or(|largest| largest <= node.own) {
            return self.win(context);
        }
        self.phase = Phase::Asking(node.now + node.t1);
        context.push_action(Action::SendToLarger(OwnedElection::Bully));
    }

    /// Begins an election because of a message, at most one election per T1.
    fn begin_again(&mut self, context: &mut Context<'_>) {
        if (context.memory.bully).is_allowed(context.node.now, context.node.t1) {
            self.begin(context);
        }
    }

    fn win(&mut self, context: &mut Context<'_>) {
        self.phase = Phase::Idle;
        let result = OwnedElection::Coordinator(Method::Bully, context.node.own);
        context
            .actions
            .extend([Action::SendToOthers(result), Action::Won]);
    }
}
