//! CHANG_ROBERTS: a node forwards only candidates that are larger than itself.

use std::cmp::Ordering;

use ring_codec::andrews::Method;

use super::handler::{Action, Context, Handler};
use crate::andrews::Reason;
use crate::andrews::message::OwnedElection;
use crate::time::Instant;

#[derive(Debug, Default)]
pub(super) struct ChangRoberts {
    /// The time until which this node is a participant. Participation ends after some time, so that a lost message does
    /// not block later elections.
    participant: Option<Instant>,
}

impl Handler for ChangRoberts {
    fn method(&self) -> Method {
        Method::ChangRoberts
    }

    fn start(&mut self, context: &mut Context<'_>) {
        self.propose(context.node.own, context);
    }

    fn on_message(&mut self, _: u32, election: OwnedElection, context: &mut Context<'_>) {
        match election {
            OwnedElection::ChangRoberts(candidate) => self.on_candidate(candidate, context),
            OwnedElection::Coordinator(method, id) => {
                context.send_result(method, id);
                self.participant = None;
                context.push_action(Action::ReadRows(id));
            }
            _ => {}
        }
    }

    fn on_timeout(&mut self, _: &mut Context<'_>) {
        self.participant = None;
    }

    fn due(&self) -> Option<Instant> {
        self.participant
    }

    fn on_successor_changed(&mut self) {
        // A candidate may be lost with the old connection. A participant would drop the smaller candidates that follow.
        self.participant = None;
    }
}

impl ChangRoberts {
    fn propose(&mut self, candidate: u32, context: &mut Context<'_>) {
        self.participant = Some(context.result_due());
        context
            .memory
            .candidates
            .record(candidate, context.node.now);
        context.push_action(Action::SendToSuccessor(OwnedElection::ChangRoberts(
            candidate,
        )));
    }

    fn on_candidate(&mut self, candidate: u32, context: &mut Context<'_>) {
        let node = context.node;
        match candidate.cmp(&node.own) {
            // The candidate of this node has returned, so every other node has forwarded it.
            Ordering::Equal => context.send_result(Method::ChangRoberts, node.own),
            Ordering::Greater if !node.lists(candidate) => {
                context.drop_message(Reason::UnknownNode);
            }
            Ordering::Greater => {
                // This node forwards a larger candidate even if it takes part. Otherwise a node that has only forwarded
                // a smaller candidate would stop it, and the larger node would never win.
                let candidates = &mut context.memory.candidates;
                if candidates.record_if_due(candidate, node.now, node.t1) {
                    self.propose(candidate, context);
                } else {
                    // The candidate's node is dead. Otherwise this node would have received the result.
                    context.drop_message(Reason::Repeated);
                }
            }
            // A larger candidate is already on its way from here.
            Ordering::Less if self.participant.is_some() => context.drop_message(Reason::Outbid),
            Ordering::Less => self.propose(node.own, context),
        }
    }
}
