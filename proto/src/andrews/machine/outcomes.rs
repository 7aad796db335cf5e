//! What has come of jobs: late, never or twice (`docs/board.md`, section 7).

use super::Andrews;
use crate::andrews::database::{Answered, InHand};
use crate::andrews::message::Said;
use crate::andrews::ring::Role;
use crate::andrews::{Change, DatabaseState, Event, Outcome, Work, Write};

impl Andrews {
    /// A job has an answer.
    pub(super) fn on_outcome(&mut self, id: u64, outcome: Outcome) {
        let Some((job, answered)) = self.database.answered(id) else {
            return;
        };
        let InHand { id, begun, work } = job;
        match outcome {
            Outcome::Failed | Outcome::Unknown => self.database.has_failed(&work),
            Outcome::Done | Outcome::Rows(_) => self.database.has_done(&work, self.now),
            Outcome::Refused => self.database.has_refused(self.now),
        }
        match (work, outcome) {
            (Work::Prepare { .. }, Outcome::Done) => {
                self.database.on_prepared();
            }
            (Work::Look, Outcome::Rows(rows)) if self.database.state() == DatabaseState::Up => {
                self.on_rows(rows, begun);
            }
            (Work::Write(write), Outcome::Done) => self.on_written(write, &answered),
            (Work::Write(write), Outcome::Refused) => self.on_refused(write),
            (
                Work::Serve {
                    sequence, requests, ..
                },
                outcome,
            ) => self.on_visit(id, sequence, requests, &outcome, &answered),
            _ => {}
        }
        self.tell_database();
    }

    fn on_written(&mut self, write: Write, answered: &Answered) {
        let is_in_time = *answered == Answered::InTime;
        match write {
            Write::Found { term, .. } => {
                self.entered(term);
                self.make_token(term, true);
                self.database.distrust();
            }
            Write::Claim { seen, change } => {
                self.entered(seen.term.saturating_add(1));
                self.out.counters.claims += 1;
                self.out.event(Event::Claimed);
                self.watch.on_claimed(is_in_time);
                if let Some(Change::Remove { node, .. }) = change {
                    self.on_node_removed(node);
                }
                self.database.distrust();
            }
            Write::Elected { .. } => {
                self.victory = None;
                self.database.distrust();
            }
            Write::Change { change, .. } if is_in_time => self.on_changed(change),
            Write::Token { new, .. } => {
                self.make_token(new, false);
                if let Some(view) = self.view.as_mut().filter(|_| is_in_time) {
                    view.raise_term(new);
                }
            }
            Write::Try | Write::Beat { .. } | Write::Change { .. } => {}
        }
        if !is_in_time {
            self.database.distrust();
        }
    }

    /// A node that starts is coordinator by a row of this life only.
    fn entered(&mut self, term: u64) {
        if let Role::Starting(claimed) = &mut self.role {
            *claimed = Some(term);
        }
    }

    fn on_refused(&mut self, write: Write) {
        self.database.distrust();
        if let Write::Elected { .. } = write
            && let Some(victory) = &mut self.victory
        {
            victory.on_refused(self.now);
        }
        let now = self.now;
        if let Some(plea) = self.role.plea_mut() {
            plea.set_due(now);
        }
    }

    /// This coordinator has changed the ring.
    fn on_changed(&mut self, change: Change) {
        let (own, now) = (self.options.id, self.now);
        let Some(view) = &mut self.view else {
            return;
        };
        view.apply(change);
        let members = view.len();
        match change {
            Change::Insert {
                node,
                after,
                before,
            } => {
                self.out.event(Event::NodeJoined { id: node });
                if node != own {
                    self.out.send(&self.list, node, &Said::Successor(before));
                }
                if after != own {
                    self.out.send(&self.list, after, &Said::Successor(node));
                }
            }
            Change::Remove { node, after } => {
                let next = view.successor(after);
                self.on_node_removed(node);
                if let Some(duties) = &mut self.duties {
                    duties.removed_for(after, now, self.options.ack_timeout);
                }
                if let Some(next) = next.filter(|_| after != own) {
                    self.out.send(&self.list, after, &Said::Successor(next));
                }
            }
        }
        self.out.event(Event::MembersChanged { members });
        self.on_view();
    }

    fn on_node_removed(&mut self, id: u32) {
        self.out.counters.removals += 1;
        self.out.event(Event::NodeRemoved { id });
    }
}
