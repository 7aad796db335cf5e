//! The coordinator's answers to JOIN and SUCCESSOR_REQUEST (`docs/board/protocol/members.md`, rules S; `failures.md`,
//! rules F).

use super::Andrews;
use crate::andrews::coordinator::MemberRequest;
use crate::andrews::message::OwnedMessage;
use crate::andrews::{Change, Write};

impl Andrews {
    pub(super) fn on_join(&mut self, from: u32) {
        let (Some(duties), Some(view)) = (&mut self.duties, &self.view) else {
            // The sender has read that this node is coordinator, so this node's rows may be old.
            return self.database.want_look();
        };
        match view.successor(from) {
            // The node repeats its JOIN because the answer was lost. A second insertion would break the ring.
            Some(successor) => {
                self.out
                    .send(&self.list, from, &OwnedMessage::Successor(successor));
            }
            None => duties.add_request(from, MemberRequest::Join),
        }
    }

    pub(super) fn on_successor_request(&mut self, from: u32) {
        let (now, own) = (self.now, self.options.id);
        let (Some(duties), Some(view)) = (&mut self.duties, &self.view) else {
            return self.database.want_look();
        };
        let Some(failed) = view.successor(from) else {
            // The sender was removed, and has not read this yet.
            return duties.add_request(from, MemberRequest::Join);
        };
        let is_repeat = duties.has_removed_for(from, now, self.options.ack_timeout);
        // The node may repeat its request because the answer was lost. A second removal would hit the live node behind
        // the failed node.
        if is_repeat || failed == from {
            return self
                .out
                .send(&self.list, from, &OwnedMessage::Successor(failed));
        }
        duties.add_request(
            from,
            // This coordinator is alive, so the sender cannot reach it. At another place in the ring, the sender has
            // another successor.
            if failed == own {
                MemberRequest::Leave
            } else {
                MemberRequest::Remove(failed)
            },
        );
    }

    /// Returns the next change that a node requested.
    pub(super) fn next_member_request(&mut self) -> Option<Write> {
        let own = self.options.id;
        loop {
            let (node, request) = self.duties.as_mut()?.next_member_request()?;
            let view = self.view.as_ref()?;
            let (term, successor) = (view.seat().term, view.successor(node));
            let change = match (request, successor) {
                (MemberRequest::Join, None) => self.insertion(node),
                (MemberRequest::Leave, Some(successor)) if successor == own => {
                    let after = view.predecessor(node);
                    after.map(|after| Change::Remove { node, after })
                }
                (MemberRequest::Remove(failed), Some(successor)) if failed == successor => {
                    let after = node;
                    Some(Change::Remove {
                        node: failed,
                        after,
                    })
                }
                // An earlier request has already changed the row.
                (_, Some(successor)) => {
                    self.out
                        .send(&self.list, node, &OwnedMessage::Successor(successor));
                    None
                }
                // The node was removed in the meantime, so it sends JOIN next.
                (MemberRequest::Remove(_) | MemberRequest::Leave, None) => None,
            };
            if let Some(change) = change {
                return Some(Write::Change { term, change });
            }
        }
    }
}
