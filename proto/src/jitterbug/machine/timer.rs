//! The clock: stalls, and the next deadline (`docs/jitterbug/protocol/leader.md` S1 to S8).

use super::Jitterbug;
use crate::jitterbug::role::Role;
use crate::jitterbug::{Event, Reason};
use crate::time::{Instant, Now};

/// The loop wakes up this many times within the shortest lease, so that the node notices its own stalls.
const WAKE_UPS_PER_LEASE: u32 = 8;

impl Jitterbug {
    /// Advances the node's time. The time never goes back. If a leader or a restore has stalled for too long, it ends
    /// here, before the node handles an input (S1, S2).
    pub(super) fn advance_clock(&mut self, now: Now) {
        let stood = now.monotonic.since(self.now);
        // The lease from before the stall counts. Terms that run out during the stall must not make the lease longer.
        let lease = self.lease();
        self.now = self.now.max(now.monotonic);
        self.peers.expire(self.now, self.terms_lifetime());
        if stood < lease || self.is_finished {
            return;
        }
        // A waiter has no token and no answers that could be out of date.
        let is_concerned = matches!(self.role, Role::Leader(_) | Role::Orphan(Some(_)));
        if is_concerned {
            self.out.counters.stalls += 1;
            self.out.push_event(Event::Stalled { after: stood });
            self.become_orphan();
        }
    }

    pub(super) fn on_timeout(&mut self) {
        let now = self.now;
        if self.leave_by.is_some_and(|due| due <= now) {
            return self.finish_in_time();
        }
        self.on_restore_due();
        if matches!(&self.role, Role::Waiter(waiter) if waiter.renew_at() <= now) {
            self.become_orphan();
        }
        self.on_pass_due();
        for id in self
            .inbound
            .overdue_exchanges(now, self.options.token_pass_timeout)
        {
            self.reset_exchange(id, Reason::Late);
        }
        let ended = self.data.cancel_late_job(now, self.options.max_data);
        self.on_data_result(ended);
    }

    pub(super) fn due(&self) -> Option<Instant> {
        // A stall ends only a leadership or a restore, so other states need no extra wake-ups.
        let watch = || self.now + self.lease() / WAKE_UPS_PER_LEASE;
        let of_role = match &self.role {
            Role::Orphan(None) => [None; 3],
            Role::Orphan(Some(restore)) => [restore.due(), Some(watch()), None],
            Role::Waiter(waiter) => [Some(waiter.renew_at()), None, None],
            Role::Leader(turn) => {
                // A command reports the end of local work, so the hold needs no timer.
                let held_until = (!self.is_kept_for_work()).then(|| self.held_until(turn));
                let step = turn.due(held_until);
                [step, self.announcement_due(), Some(watch())]
            }
        };
        let oldest = self.inbound.oldest_accepted();
        let others = [
            oldest.map(|accepted| accepted + self.options.token_pass_timeout),
            self.data.due(),
            self.leave_by,
        ];
        of_role.into_iter().chain(others).flatten().min()
    }
}
