//! The work for which an owner keeps the token (`docs/reference/lab2/locks.md`). Without this rule, a token that moves
//! on quickly would leave each owner before the owner can serve a request.

use super::duty::Duty;
use super::record::Record;
use super::{Locks, LocksAction, LocksContext, Side};
use crate::time::Instant;

/// An owner keeps the token for work on locks, but at most for this number of TAKE_TIMEOUTs.
const WORK_PERIODS: u32 = 3;

impl Locks {
    /// Whether the owner keeps the token for work on locks.
    pub(crate) fn keeps_token(&self, locks: &LocksContext<'_>) -> bool {
        let may_keep = self.work_ends(locks).is_some_and(|end| locks.now() < end);
        !self.is_resting(locks)
            && may_keep
            && Side::ALL.iter().any(|&side| self.has_work(locks, side))
    }

    /// Whether the owner kept the token for work on locks until now, and no longer keeps it.
    pub(crate) fn stops_keeping_token(&mut self, locks: &LocksContext<'_>) -> bool {
        let keeps = self.keeps_token(locks);
        std::mem::replace(&mut self.keeps_token, keeps) && !keeps
    }

    /// Returns the next time at which this node checks whether it keeps the token.
    pub(super) fn next_work(&self, locks: &LocksContext<'_>) -> Option<Instant> {
        let end = self.work_ends(locks).filter(|_| self.keeps_token(locks));
        let asked = self.duty.as_ref().and_then(Duty::asked_at);
        let again = asked.filter(|_| self.waits_for_confirmation(locks));
        let again = again.map(|at| at + locks.take_timeout());
        end.into_iter().chain(again).min()
    }

    fn work_ends(&self, locks: &LocksContext<'_>) -> Option<Instant> {
        let since = self.duty.as_ref()?.since();
        Some(since + locks.take_timeout() * WORK_PERIODS)
    }

    /// Whether this owner has something to do in a table.
    fn has_work(&self, locks: &LocksContext<'_>, side: Side) -> bool {
        let of_side = |grade| Side::of(grade) == side;
        let mut pending = self.pending.iter();
        let unconfirmed = self.duty.as_ref().is_some_and(Duty::has_unconfirmed);
        pending.any(|it| of_side(it.grade()))
            || side == Side::Quorum && unconfirmed
            || self
                .renewals
                .has_unanswered(side, Self::oldest_renewal(locks))
            || self.is_check_due(locks, side)
            || self.has_grantable(locks, side)
    }

    /// Whether a session waits for a lock that no other session holds, because this owner could not grant it yet.
    fn has_grantable(&self, locks: &LocksContext<'_>, side: Side) -> bool {
        let duty = self.duty.as_ref();
        let is_settled = duty.is_some_and(|it| it.settled_at() <= locks.now());
        (side == Side::Quorum || is_settled) && self.has_free_lock(side, |_| true)
    }

    /// Whether a session with this property waits in a table for a lock that no other session holds.
    fn has_free_lock(&self, side: Side, is_meant: impl Fn(&Record) -> bool) -> bool {
        let table = self.table(side);
        let mut names = table.wanted();
        names.any(|name| {
            // Many sessions may wait for a lock with an exclusive holder.
            let is_taken = self.held(name).any(Record::is_exclusive);
            let mut waiting = table.waiting(name).filter(|it| is_meant(it));
            !is_taken && waiting.any(|it| self.is_free_for(it))
        })
    }

    /// Whether this owner's work waits for the confirmations of members.
    fn waits_for_confirmation(&self, locks: &LocksContext<'_>) -> bool {
        // There may be a thousand waiting sessions. So this owner looks at them only while it keeps the token for them.
        let may_wait = locks.tenure.may_serve && self.keeps_token(locks);
        let for_majority = || self.has_work(locks, Side::Quorum) && !self.is_agreed(locks);
        let needs_more = |it: &Record| it.request.grade > locks.tenure.grade;
        may_wait && (for_majority() || self.has_free_lock(Side::Others, needs_more))
    }

    /// If the work waits for the confirmations of members, asks the members to confirm the tenure. Their first answers
    /// may show older tables, so this owner asks again.
    pub(super) fn ask_for_confirmation(&mut self, locks: &LocksContext<'_>) {
        let waits = self.waits_for_confirmation(locks);
        let (now, pause) = (locks.now(), locks.take_timeout());
        if let Some(duty) = self.duty.as_mut().filter(|_| waits)
            && duty.ask_again(now, pause)
        {
            // The next heartbeat may come only after the handover.
            self.actions.push_back(LocksAction::Confirm);
        }
    }

    /// Returns the earliest arrival time of a renewal that may still get an answer. Members repeat older renewals.
    pub(super) fn oldest_renewal(locks: &LocksContext<'_>) -> Instant {
        locks.now().before(locks.renewal_period())
    }
}
