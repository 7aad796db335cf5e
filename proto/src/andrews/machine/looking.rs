//! What the rows say (`docs/board.md`, section 4).

use std::time::Duration;

use super::Andrews;
use crate::andrews::coordinator::Duties;
use crate::andrews::database::View;
use crate::andrews::ring::{Membership, Plea, Role, Verdict};
use crate::andrews::{DatabaseState, Event, Reason, Rows};
use crate::time::Instant;

impl Andrews {
    pub(super) fn on_database_due(&mut self) {
        let (now, options) = (self.now, self.options);
        let visit = self.database.time_out(now, options.database_timeout);
        if let Some(visit) = visit {
            self.give_up_visit(visit);
        }
        self.tell_database();
        if self.database.poll(now, options.poll) {
            self.watch.on_poll();
            if let Some(duties) = &mut self.duties {
                duties.on_poll();
            }
        }
    }

    /// Whether looks have shown the same beat for a time. While the database did not answer the coordinator could not write
    /// either.
    pub(super) fn is_beat_still(&self, time: Duration) -> bool {
        let read_at = self.view.as_ref().map(View::read_at);
        let up_since = self.database.up_since();
        read_at.is_some_and(|read_at| self.watch.is_beat_still(time, up_since, read_at))
    }

    /// Whatever waits for a look waits no longer if there is none.
    pub(super) fn tell_database(&mut self) {
        let state = self.database.state();
        if std::mem::replace(&mut self.told_database, state) != state {
            self.out.event(Event::DatabaseChanged { state });
        }
        if state != DatabaseState::Up {
            self.drop_parked();
        }
    }

    /// A token that nobody knows is not acknowledged.
    pub(super) fn drop_parked(&mut self) {
        if self.token.unpark()
            && let Some(predecessor) = self.inbound.predecessor()
        {
            self.out.drop(predecessor.from(), Reason::FromFuture);
        }
    }

    /// A look that began at a time has read rows.
    pub(super) fn on_rows(&mut self, rows: Rows, began: Instant) {
        self.note_rows(&rows.nodes);
        let view = View::new(rows, began);
        let now = self.now;
        let before = self.view.as_ref();
        if before.is_some_and(|before| before.read_at() > view.read_at()) {
            return;
        }
        self.watch.note(before, &view, now);
        // Somebody uses it.
        if before.is_some_and(|before| view.sequence() > before.sequence()) {
            self.token.note_seen(now);
        }
        self.database.looked();
        self.tell_of(&view);
        self.view = Some(view);
        self.forget_outrun_token();
        self.on_view();
        self.on_parked(began);
        self.start_if_due(false);
    }

    fn tell_of(&mut self, view: &View) {
        let before = self.view.as_ref();
        if before.is_none_or(|it| it.seat() != view.seat() || it.acting() != view.acting()) {
            self.out.event(Event::CoordinatorChanged {
                id: view.seat().id,
                term: view.seat().term,
                acting: view.acting(),
            });
        }
        if before.is_none_or(|it| !it.has_same_members(view)) {
            let members = view.len();
            self.out.event(Event::MembersChanged { members });
        }
    }

    /// The rows are other than before, or read again.
    pub(super) fn on_view(&mut self) {
        let (now, own) = (self.now, self.options.id);
        let Some(view) = &self.view else {
            return;
        };
        let (seat, read_at) = (view.seat(), view.read_at());
        if let Role::Starting(claimed) = self.role {
            let is_former_life = seat.id == Some(own) && claimed != Some(seat.term);
            if seat.id.is_none() || is_former_life {
                return;
            }
        }
        if seat.id == Some(own) {
            let is_overdue = self.watch.take_makes_token();
            self.duties
                .get_or_insert_with(|| Duties::new(now, is_overdue));
        } else {
            self.duties = None;
        }
        let is_member = view.is_member(own);
        match (&self.role, is_member) {
            (Role::Member(_), true) | (Role::Joining(_), false) => {}
            (Role::Member(_), false) => self.on_removed(read_at),
            (Role::Joining(_), true) => self.enter(Role::Member(Membership::new())),
            (Role::Starting(_), true) => self.enter(Role::Member(Membership::default())),
            (Role::Starting(_), false) => {
                self.enter(Role::Joining(Plea::new(now, read_at, Verdict::None)));
            }
        }
        self.follow_row();
        self.step_plea();
    }

    /// The own row has no successor any longer.
    fn on_removed(&mut self, read_at: Instant) {
        self.out.counters.removed += 1;
        self.out.event(Event::Removed);
        self.lose_token();
        self.close_successor();
        self.close_predecessor();
        self.elections.leave();
        self.waiting.clear();
        self.victory = None;
        self.enter(Role::Joining(Plea::new(self.now, read_at, Verdict::None)));
    }
}
