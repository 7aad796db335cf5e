//! Changes of state (`docs/jitterbug/protocol/README.md`, "Variables"; `restore.md` R1, R2, R6, R14 and `leader.md` L1,
//! L14 there).

use ring_codec::jitterbug::TokenId;

use super::Jitterbug;
use crate::jitterbug::Event;
use crate::jitterbug::role::{PassEnd, Restore, Role, Turn, Waiter};

impl Jitterbug {
    pub(super) fn set_token_id(&mut self, id: TokenId) {
        // Only messages use the sign of an id. A node keeps its id when it no longer leads.
        let id = id.with_leader(false);
        if id != self.token_id {
            self.token_id = id;
            self.announcements.on_token_changed(id);
        }
    }

    /// Leaves the present state and enters another state.
    pub(super) fn enter(&mut self, role: Role) {
        // Only a leader passes its token, so the connection of a pass must not outlive the leadership.
        self.end_pass(PassEnd::Aborted);
        // The next turn computes again, so this result is useless.
        self.data.cancel_computation();
        self.role = role;
        self.report_state();
    }

    pub(super) fn report_state(&mut self) {
        self.out.push_event(Event::StateChanged {
            state: self.role.state(),
            token_id: self.token_id.random(),
        });
    }

    /// Starts a restore, if there is a network. A node that is shutting down ends and starts no restore.
    pub(super) fn become_orphan(&mut self) {
        if self.net.is_none() || self.leave_by.is_some() {
            // Without a network no node can object, so a restore would create a second token.
            self.enter(Role::Orphan(None));
            if self.leave_by.is_some() {
                self.finish();
            }
            return;
        }
        self.out.counters.restores += 1;
        self.follow_state
            .on_restore_begun(self.now, self.last_broadcast);
        let least = self.least_restore();
        let restore = Restore::new(self.now, self.out.counters.restores, least);
        self.enter(Role::Orphan(Some(restore)));
        self.out.push_event(Event::RestoreBegan);
        // The first TR1 leaves at once.
        self.on_restore_due();
    }

    pub(super) fn become_waiter(&mut self, owes: bool) {
        self.enter(Role::Waiter(Waiter::new(
            self.now + self.options.renew_timeout,
            owes,
        )));
        // A node that shuts down has given its token away, so it can end.
        if self.leave_by.is_some() {
            self.finish();
        }
    }

    pub(super) fn become_leader(&mut self) {
        // If a later pass loses this token, the node must not absorb the token of a weaker ring as an old token.
        self.passed_token.forget();
        let turn = self.next_turn(false);
        self.enter(Role::Leader(turn));
    }

    pub(super) fn next_turn(&mut self, is_untaken: bool) -> Turn {
        self.turns += 1;
        Turn::new(self.now, is_untaken)
    }
}
