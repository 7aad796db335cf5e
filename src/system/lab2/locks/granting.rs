//! Grants and refuses the token, and ends locks. Returns the commands for the machine.

use std::ops::ControlFlow;

use ring_client::lease::Lease;
use ring_client::lock::MARGINS;
use ring_codec::lab2::Token;
use ring_control::lab2::{Grade, LockRequest, LossReason, RefusalReason};
use ring_host::ENDING_NOTICE;
use ring_process::ClientId;
use ring_proto::lab2::{Command, Reason, State};
use ring_proto::time::Instant;

use super::client::{JobRequirements, Waiter};
use super::{Availability, Locks, MachineState, Notice, YieldRequest};

/// The share of a lease by which the notice about a missing confirmation comes before the client's own warning. The
/// notice then has the time to reach the client before the client ends its work without a known reason.
const NOTICE_LEAD_DIVISOR: u32 = 64;

/// Returns the time at which a client gets notice that the members have not confirmed its lock again. At this time, the
/// client begins to end its work in any case.
fn notice_at(now: Instant, until: Instant) -> Instant {
    let lead = until.since(now) / NOTICE_LEAD_DIVISOR;
    Lease::new(until, now, MARGINS).warn_at().before(lead)
}

impl Locks {
    /// Notifies clients, and returns the next command for the machine. Call this function again with the machine's new
    /// state until it returns `None`.
    pub(crate) fn update(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) -> Option<Command> {
        self.end_or_renew_lock(now, machine, tell);
        self.refuse_expired(now, machine, tell);
        self.update_asking(now, machine);
        if let Some(command) = self.end_orphaned_job(machine) {
            return Some(command);
        }
        if let Some(holder) = &self.queue.holder {
            let is_over = !machine.is_held_under(holder.token);
            return if is_over && self.queue.waiting.is_empty() {
                self.release_token()
            } else {
                self.request_token()
            };
        }
        if std::mem::take(&mut self.must_report_pause) {
            return Some(Command::Pause(self.is_paused().then_some(self.pause_terms)));
        }
        if machine.state != State::Owner {
            self.yielding = None;
        }
        // If the token may not be granted yet, the node waits for the grade before it yields the token.
        if machine.token.is_some()
            && let Some(YieldRequest { to }) = self.yielding.take()
        {
            return Some(Command::Yield(to));
        }
        self.grant_next(now, machine, tell)
    }

    /// Grants the free token to the next client. If the state machine must act before the grant, returns the command
    /// for this action.
    fn grant_next(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) -> Option<Command> {
        if self.queue.waiting.is_empty() {
            self.last_granted = None;
        }
        if self.queue.waiting.is_empty() || self.availability == Availability::Paused {
            self.confirmation = None;
            return self.release_token();
        }
        let Some(token) = machine.token else {
            return self.request_token();
        };
        let is_served = self
            .last_granted
            .is_some_and(|it| machine.is_held_under(it));
        if is_served && machine.others_may_want() {
            // Only one grant per turn of this node, because each other node also has one grant per turn.
            return self.release_token();
        }
        let safe = |waiter: &Waiter| machine.grantable_until(now, waiter.requires());
        let Some((at, until)) = self
            .queue
            .waiting
            .iter()
            .enumerate()
            .find_map(|(at, waiter)| Some((at, safe(waiter)?)))
        else {
            return self
                .request_token()
                .or_else(|| self.ask_for_confirmation(now, machine, token));
        };
        self.confirmation = None;
        if let ControlFlow::Break(step) = self.prepare_job(at, now, machine, token, tell) {
            return step;
        }
        self.grant(at, now, token, until, tell);
        self.request_token()
    }

    /// Grants the lock to the client at index `at`. Before `until`, no other client gets the lock.
    fn grant(
        &mut self,
        at: usize,
        now: Instant,
        token: Token,
        until: Instant,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let Some(waiter) = self.queue.waiting.remove(at) else {
            return;
        };
        self.last_granted = Some(token);
        let granted = Notice::Granted { token, until };
        tell(waiter.client.id, &waiter.request, granted);
        let needs_members = waiter.requires() > Grade::Alone;
        self.notice_at = needs_members.then(|| notice_at(now, until));
        self.queue.hold(now, waiter, token, until);
    }

    pub(super) fn request_token(&mut self) -> Option<Command> {
        (!std::mem::replace(&mut self.is_requested, true)).then_some(Command::WantToken)
    }

    pub(super) fn release_token(&mut self) -> Option<Command> {
        std::mem::take(&mut self.is_requested).then_some(Command::WorkDone)
    }

    fn end_or_renew_lock(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let (availability, yielding) = (self.availability, self.yielding.is_some());
        let ends_for_pause = availability == Availability::Paused && !self.is_draining;
        let Some(holder) = &mut self.queue.holder else {
            return;
        };
        let client = holder.waiter.client.id;
        if !machine.is_held_under(holder.token) && holder.ends_by.is_none() {
            let why = Self::loss_reason(machine);
            let until = match why {
                // The new holder may already have the token, unless both holders need a quorum.
                LossReason::StrongerToken if holder.waiter.requires() < Grade::Quorum => now,
                _ => holder.until,
            };
            holder.ends_by = Some(until);
            tell(client, &holder.waiter.request, Notice::Lost { why, until });
        }
        if holder.ends_by.is_some() {
            if holder.ended_at() <= Some(now) {
                self.queue.holder = None;
            }
            return;
        }
        let safe_until = machine.safe_until(holder.waiter.requires());
        let is_renewed = safe_until > Some(holder.until);
        let is_notice_due = self.notice_at.take_if(|at| *at <= now).is_some();
        let is_unconfirmed =
            is_notice_due && !is_renewed && machine.lacks_answers_after(holder.until);
        let ending = if availability == Availability::Leaving {
            Some((LossReason::Shutdown, now + ENDING_NOTICE))
        } else if yielding {
            Some((LossReason::Yield, now + ENDING_NOTICE))
        } else if ends_for_pause {
            Some((LossReason::Paused, now + ENDING_NOTICE))
        } else if safe_until.is_none() || is_unconfirmed {
            Some((LossReason::Grade, holder.until))
        } else {
            holder
                .due_notice(now)
                .map(|until| (LossReason::MaxHold, until))
        };
        if let Some((why, until)) = ending {
            let until = until.min(safe_until.unwrap_or(holder.until).max(now));
            holder.ends_by = Some(until);
            tell(client, &holder.waiter.request, Notice::Lost { why, until });
        } else if let Some(until) = safe_until.filter(|&until| until > holder.until) {
            holder.until = until;
            if holder.waiter.requires() > Grade::Alone {
                self.notice_at = Some(notice_at(now, until));
            }
            tell(
                client,
                &holder.waiter.request,
                Notice::Renewed {
                    until: holder.until,
                },
            );
        }
    }

    const fn loss_reason(machine: &MachineState) -> LossReason {
        match machine.state {
            _ if !machine.link_up => LossReason::Link,
            State::Owner | State::Waiter => LossReason::StrongerToken,
            State::Looser | State::Generating => match machine.last_loss {
                Some(Reason::NotStored) => LossReason::NotStored,
                Some(Reason::NoTaker) => LossReason::NobodyTakes,
                Some(Reason::Apart) => LossReason::Apart,
                // The link is up again, and the loss was not yet reported.
                Some(Reason::LinkLost) => LossReason::Link,
                _ => LossReason::Lease,
            },
        }
    }

    fn refuse_expired(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let (availability, is_held) = (self.availability, self.queue.holder.is_some());
        // The missing grade is also the reason during the time in which a new tenure may not grant yet.
        let is_here = machine.token.is_some() || machine.state == State::Owner;
        let is_safe = |waiter: &Waiter| {
            let until = if is_held {
                machine.safe_until(waiter.requires())
            } else {
                machine.grantable_until(now, waiter.requires())
            };
            until.is_some()
        };
        self.queue.waiting.retain(|waiter| {
            let why = if availability == Availability::Leaving {
                RefusalReason::Leaving
            } else if waiter.still_waits(now) {
                return true;
            } else if availability == Availability::Paused {
                RefusalReason::Paused
            } else if is_here && !is_safe(waiter) {
                RefusalReason::Grade
            } else {
                RefusalReason::Timeout
            };
            tell(waiter.client.id, &waiter.request, Notice::Refused(why));
            false
        });
    }
}
