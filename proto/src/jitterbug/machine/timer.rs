//! The clock: stalls, and what is due when (`docs/jitterbug.md`, section 5).

use super::Jitterbug;
use crate::jitterbug::role::Role;
use crate::jitterbug::{Event, Reason};
use crate::time::{Instant, Now};

/// A loop that is to notice its own stalls wakes up so many times in the shortest one.
const LOOKS: u32 = 8;

impl Jitterbug {
    /// Its time never goes back. A leader or a restore that has stood still for too long ends here, before anything
    /// else is looked at (section 5, "Stall").
    pub(super) fn advance_clock(&mut self, now: Now) {
        let stood = now.monotonic.since(self.now);
        // That of before: a lease must not grow since a node was silent while this one stood still.
        let lease = self.lease();
        self.now = self.now.max(now.monotonic);
        self.peers.expire(self.now, self.terms_count_for());
        if stood < lease || self.is_finished {
            return;
        }
        let is_concerned = matches!(self.role, Role::Leader(_) | Role::Orphan(Some(_)));
        if is_concerned {
            self.out.counters.stalls += 1;
            self.out.event(Event::Stalled { after: stood });
            self.become_orphan();
        }
    }

    pub(super) fn on_time(&mut self) {
        let now = self.now;
        if self.leave_by.is_some_and(|due| due <= now) {
            return self.finish_in_time();
        }
        self.on_restore_due();
        if matches!(&self.role, Role::Waiter(waiter) if waiter.renew_at() <= now) {
            self.become_orphan();
        }
        self.on_pass_due();
        for id in self.inbound.late(now, self.options.token_pass_timeout) {
            self.reset(id, Reason::Late);
        }
        let ended = self.data.time_out(now, self.options.max_data);
        self.on_ended(ended);
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let watch = || self.now + self.lease() / LOOKS;
        let of_role = match &self.role {
            Role::Orphan(None) => [None; 3],
            Role::Orphan(Some(restore)) => [restore.due(), Some(watch()), None],
            Role::Waiter(waiter) => [Some(waiter.renew_at()), None, None],
            Role::Leader(turn) => {
                let held_until = (!self.keeps_for_work()).then(|| self.held_until(turn));
                let step = turn.due(held_until);
                [step, self.announce_at(), Some(watch())]
            }
        };
        let oldest = self.inbound.oldest();
        let others = [
            oldest.map(|accepted| accepted + self.options.token_pass_timeout),
            self.data.due(),
            self.leave_by,
        ];
        of_role.into_iter().chain(others).flatten().min()
    }
}
