//! RING_BASED: an ELECTION collects the ids of all nodes on its way round the ring.

use ring_codec::U32;
use ring_codec::andrews::Method;

use super::handler::{Action, Context, Handler};
use crate::andrews::Reason;
use crate::andrews::message::OwnedElection;
use crate::time::Instant;

#[derive(Debug, Default)]
pub(super) struct RingBased {
    /// The end of the time in which this node waits for a result.
    until: Option<Instant>,
}

impl Handler for RingBased {
    fn method(&self) -> Method {
        Method::RingBased
    }

    fn start(&mut self, context: &mut Context<'_>) {
        self.until = Some(context.result_due());
        let ids = vec![U32::new(context.node.own)];
        context.push_action(Action::SendToSuccessor(OwnedElection::RingBased(ids)));
    }

    fn on_message(&mut self, _: u32, election: OwnedElection, context: &mut Context<'_>) {
        match election {
            OwnedElection::RingBased(ids) => self.on_election(ids, context),
            OwnedElection::Coordinator(method, id) => {
                context.send_result(method, id);
                self.until = None;
                context.push_action(Action::ReadRows(id));
            }
            _ => {}
        }
    }

    fn on_timeout(&mut self, _: &mut Context<'_>) {
        self.until = None;
    }

    fn due(&self) -> Option<Instant> {
        self.until
    }
}

impl RingBased {
    fn on_election(&mut self, mut ids: Vec<U32>, context: &mut Context<'_>) {
        let node = context.node;
        let most = node.list.len();
        if ids.is_empty() || ids.len() > most {
            return context.drop_message(Reason::Candidates);
        }
        let own = ids.iter().position(|id| id.get() == node.own);
        let Some(own) = own else {
            // A message with as many ids as the list has nodes, but without this node, names an unknown node.
            if ids.len() == most {
                return context.drop_message(Reason::Candidates);
            }
            ids.push(U32::new(node.own));
            // The wait begins with the first message, so that repeats do not extend it.
            self.until.get_or_insert(context.result_due());
            return context.push_action(Action::SendToSuccessor(OwnedElection::RingBased(ids)));
        };
        // The message has returned to this node. If this node did not start the election, the starter is dead, and so
        // are all nodes before this node in the message. The remaining ids are the ring.
        let round = ids.iter().skip(own).map(|id| id.get());
        // A forged id must not win, because no node could reach that coordinator.
        if let Some(largest) = round.filter(|&id| node.lists(id)).max() {
            context.send_result(Method::RingBased, largest);
        }
    }
}
