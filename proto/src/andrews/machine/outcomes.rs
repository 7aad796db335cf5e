//! Outcomes of jobs, which may come late, never or twice (`docs/board/protocol/database.md`, rules D).

use super::Andrews;
use crate::andrews::database::{RunningJob, Timeliness};
use crate::andrews::message::OwnedMessage;
use crate::andrews::ring::Role;
use crate::andrews::{Change, DatabaseState, Event, Outcome, Work, Write};

impl Andrews {
    pub(super) fn on_outcome(&mut self, id: u64, outcome: Outcome) {
        // A second outcome of one job has no effect.
        let Some((job, timeliness)) = self.database.take_job(id) else {
            return;
        };
        let RunningJob { id, begun, work } = job;
        if work == Work::ReadRing {
            self.database.note_look_answered(self.now);
        }
        match outcome {
            Outcome::Failed | Outcome::Unknown => self.database.on_failed(&work),
            Outcome::Done | Outcome::Rows(_) => self.database.on_done(&work, self.now),
            Outcome::Refused => self.database.on_refused(self.now),
        }
        match (work, outcome) {
            (Work::Prepare { .. }, Outcome::Done) => {
                self.database.on_prepared();
            }
            // While writes fail, a look succeeds without making the rows trustworthy.
            (Work::ReadRing, Outcome::Rows(rows)) if self.database.state() == DatabaseState::Up => {
                self.on_rows(rows, begun);
            }
            (Work::Write(write), Outcome::Done) => self.on_written(write, &timeliness),
            (Work::Write(write), Outcome::Refused) => self.on_refused(write),
            (
                Work::Serve {
                    sequence, requests, ..
                },
                outcome,
            ) => self.on_visit(id, sequence, requests, &outcome, &timeliness),
            _ => {}
        }
        self.report_database_state();
    }

    fn on_written(&mut self, write: Write, timeliness: &Timeliness) {
        let is_in_time = *timeliness == Timeliness::InTime;
        match write {
            Write::Found { term, .. } => {
                self.note_claimed_term(term);
                self.make_token(term, true);
                // The founding may have changed more rows than this node knows.
                self.database.mark_stale();
            }
            Write::Claim { seen, change } => {
                self.note_claimed_term(seen.term.saturating_add(1));
                self.out.counters.claims += 1;
                self.out.push_event(Event::Claimed);
                self.watch.on_claim_committed(is_in_time);
                if let Some(Change::Remove { node, .. }) = change {
                    self.on_node_removed(node);
                }
                self.database.mark_stale();
            }
            Write::Elected { .. } => {
                self.victory = None;
                self.database.mark_stale();
            }
            // A late change is not applied, because rows that were read since may already contain it.
            Write::Change { change, .. } if is_in_time => self.on_changed(change),
            Write::Token { new, .. } => {
                self.make_token(new, false);
                // A late outcome may be older than the rows of the last look.
                if let Some(view) = self.view.as_mut().filter(|_| is_in_time) {
                    view.raise_term(new);
                }
            }
            Write::Test | Write::Beat { .. } | Write::Change { .. } => {}
        }
        if !is_in_time {
            self.database.mark_stale();
        }
    }

    /// Notes the term that this process has claimed. As long as this process has claimed no term, a row that names this
    /// node was written by an earlier process of this node.
    fn note_claimed_term(&mut self, term: u64) {
        if let Role::Starting(claimed) = &mut self.role {
            *claimed = Some(term);
        }
    }

    fn on_refused(&mut self, write: Write) {
        self.database.mark_stale();
        if let Write::Elected { .. } = write
            && let Some(victory) = &mut self.victory
        {
            victory.on_refused(self.now);
        }
        let now = self.now;
        // A refusal means that the rows have changed. So the node looks, and decides again.
        if let Some(request) = self.role.repeated_request_mut() {
            request.set_due(now);
        }
    }

    /// Applies a committed change of this coordinator, and informs the nodes that the change concerns.
    fn on_changed(&mut self, change: Change) {
        let (own, now) = (self.options.id, self.now);
        let Some(view) = &mut self.view else {
            return;
        };
        view.apply(change);
        let members = view.len();
        // The datagrams below only save time, because their receivers also read the change at their next poll.
        match change {
            Change::Insert {
                node,
                after,
                before,
            } => {
                self.out.push_event(Event::NodeJoined { id: node });
                if node != own {
                    self.out
                        .send(&self.list, node, &OwnedMessage::Successor(before));
                }
                if after != own {
                    self.out
                        .send(&self.list, after, &OwnedMessage::Successor(node));
                }
            }
            Change::Remove { node, after } => {
                let next = view.successor(after);
                self.on_node_removed(node);
                // A repeat of this request must get an answer instead of a second removal.
                if let Some(duties) = &mut self.duties {
                    duties.note_removal(after, now, self.options.ack_timeout);
                }
                if let Some(next) = next.filter(|_| after != own) {
                    self.out
                        .send(&self.list, after, &OwnedMessage::Successor(next));
                }
            }
        }
        self.out.push_event(Event::MembersChanged { members });
        self.on_rows_changed();
    }

    fn on_node_removed(&mut self, id: u32) {
        self.out.counters.removals += 1;
        self.out.push_event(Event::NodeRemoved { id });
    }
}
