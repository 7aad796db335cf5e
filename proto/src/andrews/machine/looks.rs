//! Looks at the topology, and the actions that follow from the rows that a look reads
//! (`docs/board/protocol/members.md`, rules L).

use std::time::Duration;

use super::Andrews;
use crate::andrews::coordinator::CoordinatorDuties;
use crate::andrews::database::View;
use crate::andrews::ring::{Membership, ProcessEvidence, RepeatedRequest, Role};
use crate::andrews::{DatabaseState, Event, Reason, Rows};
use crate::time::Instant;

impl Andrews {
    pub(super) fn on_database_due(&mut self) {
        let (now, options) = (self.now, self.options);
        let visit = self
            .database
            .give_up_late_jobs(now, options.database_timeout);
        if let Some(visit) = visit {
            self.give_up_visit(visit);
        }
        self.report_database_state();
        if self.database.take_poll_due(now, options.poll) {
            self.watch.on_poll();
            if let Some(duties) = &mut self.duties {
                duties.on_poll();
            }
        }
    }

    /// Whether all looks during `time` read the same beat of the coordinator.
    pub(super) fn is_beat_stalled(&self, time: Duration) -> bool {
        let read_at = self.view.as_ref().map(View::read_at);
        let up_since = self.database.up_since();
        read_at.is_some_and(|read_at| self.watch.is_beat_stalled(time, up_since, read_at))
    }

    pub(super) fn report_database_state(&mut self) {
        let state = self.database.state();
        if std::mem::replace(&mut self.reported_database, state) != state {
            self.out.push_event(Event::DatabaseChanged { state });
        }
        // A parked token waits for a look, which does not come now.
        if state != DatabaseState::Up {
            self.drop_parked();
        }
    }

    /// Drops a token of an unknown term and sends no acknowledgement, so the predecessor takes the token back.
    pub(super) fn drop_parked(&mut self) {
        if self.token.unpark()
            && let Some(predecessor) = self.inbound.predecessor()
        {
            self.out.report_drop(predecessor.from(), Reason::FromFuture);
        }
    }

    /// Handles the rows of a look that began at `began`.
    pub(super) fn on_rows(&mut self, rows: Rows, began: Instant) {
        self.note_rows(&rows.nodes);
        let view = View::new(rows, began);
        let now = self.now;
        let before = self.view.as_ref();
        // The answers of looks may arrive in a different order than the looks began, and older rows must not replace
        // newer rows.
        if before.is_some_and(|before| before.read_at() > view.read_at()) {
            return;
        }
        self.watch.on_look(before, &view, now);
        // A larger sequence means that a node has used the token in the meantime.
        if before.is_some_and(|before| view.sequence() > before.sequence()) {
            self.token.note_seen(now);
        }
        self.database.on_look_taken();
        self.report_row_changes(&view);
        self.view = Some(view);
        // The steps below must not use a token that was outrun.
        self.forget_outrun_token();
        self.on_rows_changed();
        self.retry_parked_token(began);
        self.start_if_due(false);
    }

    fn report_row_changes(&mut self, view: &View) {
        let before = self.view.as_ref();
        if before.is_none_or(|it| it.seat() != view.seat() || it.acting() != view.acting()) {
            self.out.push_event(Event::CoordinatorChanged {
                id: view.seat().id,
                term: view.seat().term,
                acting: view.acting(),
            });
        }
        if before.is_none_or(|it| !it.has_same_members(view)) {
            let members = view.len();
            self.out.push_event(Event::MembersChanged { members });
        }
    }

    /// Takes the actions that follow after rows were read or changed.
    pub(super) fn on_rows_changed(&mut self) {
        let (now, own) = (self.now, self.options.id);
        let Some(view) = &self.view else {
            return;
        };
        let (seat, read_at) = (view.seat(), view.read_at());
        if let Role::Starting(claimed) = self.role {
            // A row that names this node may come from its former process. Until this process has claimed the row, the
            // node does not act on it. Others may have elected a coordinator, and this node would make a second token.
            let is_former_life = seat.id == Some(own) && claimed != Some(seat.term);
            if seat.id.is_none() || is_former_life {
                return;
            }
        }
        if seat.id == Some(own) {
            let is_overdue = self.watch.take_token_due();
            self.duties
                .get_or_insert_with(|| CoordinatorDuties::new(now, is_overdue));
        } else {
            // Nodes repeat their requests to the new coordinator, so this node forgets them.
            self.duties = None;
        }
        let is_member = view.is_member(own);
        match (&self.role, is_member) {
            (Role::Member(_), true) | (Role::Joining(_), false) => {}
            (Role::Member(_), false) => self.on_removed(read_at),
            (Role::Joining(_), true) => self.role = Role::Member(Membership::new()),
            // A node that did not send JOIN was already a member, or has claimed the coordinator's place. So it starts
            // no election as a new member.
            (Role::Starting(_), true) => self.role = Role::Member(Membership::default()),
            (Role::Starting(_), false) => {
                self.role =
                    Role::Joining(RepeatedRequest::new(now, read_at, ProcessEvidence::None));
            }
        }
        self.follow_row();
        self.step_repeated_request();
    }

    /// Leaves the ring, because the node's row has no successor.
    fn on_removed(&mut self, read_at: Instant) {
        self.out.counters.removed += 1;
        self.out.push_event(Event::Removed);
        // Outside the ring the node could neither pass the token nor get an acknowledgement.
        self.lose_token();
        self.close_successor();
        self.close_predecessor();
        self.elections.reset();
        self.waiting.clear();
        self.victory = None;
        self.role = Role::Joining(RepeatedRequest::new(
            self.now,
            read_at,
            ProcessEvidence::None,
        ));
    }
}
