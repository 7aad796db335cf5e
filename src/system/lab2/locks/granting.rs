//! Who is granted the token, refused it or told that it is lost, and what the machine has to do for that.

use std::ops::ControlFlow;

use ring_codec::lab2::Token;
use ring_control::lab2::{Grade, LockRequest, LossReason, RefusalReason};
use ring_host::NOTICE;
use ring_process::ClientId;
use ring_proto::lab2::{Command, Reason, State};
use ring_proto::time::Instant;

use super::client::{Asks, Waiter};
use super::{Availability, Locks, MachineState, Notice, Yielding};

impl Locks {
    /// Tells the clients what has become of what they asked for, and returns what the machine is to do. To be
    /// called again, with what the machine knows then, until it returns nothing.
    pub(crate) fn update(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) -> Option<Command> {
        self.look_after_holder(now, machine, tell);
        self.refuse_the_impatient(now, machine, tell);
        self.review_asking(now, machine);
        if let Some(command) = self.end_deserted_job(machine) {
            return Some(command);
        }
        if let Some(holder) = &self.queue.holder {
            let is_over = !machine.is_held_under(holder.token);
            return if is_over && self.queue.waiting.is_empty() {
                self.want_no_more()
            } else {
                self.want()
            };
        }
        if std::mem::take(&mut self.pausing) {
            return Some(Command::Pause(self.availability == Availability::Paused));
        }
        if machine.state != State::Owner {
            self.yielding = None;
        }
        // Where nobody may be granted the token yet it waits.
        if machine.token.is_some()
            && let Some(Yielding { to }) = self.yielding.take()
        {
            return Some(Command::Yield(to));
        }
        self.serve_next(now, machine, tell)
    }

    /// Nobody here holds the token: looks for the client to grant it to, and returns what the machine is to do for
    /// that.
    fn serve_next(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) -> Option<Command> {
        if self.queue.waiting.is_empty() {
            self.served = None;
        }
        if self.queue.waiting.is_empty() || self.availability == Availability::Paused {
            self.confirmation = None;
            return self.want_no_more();
        }
        let Some(token) = machine.token else {
            return self.want();
        };
        let is_served = self.served.is_some_and(|it| machine.is_held_under(it));
        if is_served && machine.others_may_want() {
            // One grant for each turn of this node, as the others have one in theirs.
            return self.want_no_more();
        }
        let safe = |waiter: &Waiter| machine.worth_granting_until(now, waiter.requires());
        let Some((at, until)) = self
            .queue
            .waiting
            .iter()
            .enumerate()
            .find_map(|(at, waiter)| Some((at, safe(waiter)?)))
        else {
            return self
                .want()
                .or_else(|| self.ask_for_grade(now, machine, token));
        };
        self.confirmation = None;
        if let ControlFlow::Break(step) = self.prepare_job(at, now, machine, token, tell) {
            return step;
        }
        self.grant(at, now, token, until, tell);
        self.want()
    }

    /// Grants the lock to the client at this place of the queue: it holds the token from here on, and nobody else is
    /// granted it before `until`.
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
        self.served = Some(token);
        let granted = Notice::Granted { token, until };
        tell(waiter.client.id, &waiter.request, granted);
        self.queue.hold(now, waiter, token, until);
    }

    pub(super) fn want(&mut self) -> Option<Command> {
        (!std::mem::replace(&mut self.wanted, true)).then_some(Command::WantToken)
    }

    pub(super) fn want_no_more(&mut self) -> Option<Command> {
        std::mem::take(&mut self.wanted).then_some(Command::WorkDone)
    }

    fn look_after_holder(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let (availability, yielding) = (self.availability, self.yielding.is_some());
        let ends_for_pause = availability == Availability::Paused && !self.draining;
        let Some(holder) = &mut self.queue.holder else {
            return;
        };
        let client = holder.asked.client.id;
        if !machine.is_held_under(holder.token) && holder.ends_by.is_none() {
            let why = Self::loss(machine);
            let until = match why {
                // Its new holder has it already, unless that must have a quorum as this one had.
                LossReason::StrongerToken if holder.asked.requires() < Grade::Quorum => now,
                _ => holder.until,
            };
            holder.ends_by = Some(until);
            tell(client, &holder.asked.request, Notice::Lost { why, until });
        }
        if holder.ends_by.is_some() {
            if holder.gone_at() <= Some(now) {
                self.queue.holder = None;
            }
            return;
        }
        let safe_until = machine.safe_until(holder.asked.requires());
        let ending = if availability == Availability::Leaving {
            Some((LossReason::Shutdown, now + NOTICE))
        } else if yielding {
            Some((LossReason::Yield, now + NOTICE))
        } else if ends_for_pause {
            Some((LossReason::Paused, now + NOTICE))
        } else if safe_until.is_none() {
            Some((LossReason::Grade, holder.until))
        } else {
            holder
                .overdue(now)
                .map(|until| (LossReason::MaxHold, until))
        };
        if let Some((why, until)) = ending {
            let until = until.min(safe_until.unwrap_or(holder.until).max(now));
            holder.ends_by = Some(until);
            tell(client, &holder.asked.request, Notice::Lost { why, until });
        } else if let Some(until) = safe_until.filter(|&until| until > holder.until) {
            holder.until = until;
            tell(
                client,
                &holder.asked.request,
                Notice::Renewed {
                    until: holder.until,
                },
            );
        }
    }

    const fn loss(machine: &MachineState) -> LossReason {
        match machine.state {
            _ if !machine.link_up => LossReason::Link,
            State::Owner | State::Waiter => LossReason::StrongerToken,
            State::Looser | State::Generating => match machine.last_loss {
                Some(Reason::NotStored) => LossReason::NotStored,
                Some(Reason::NobodyTakes) => LossReason::NobodyTakes,
                Some(Reason::Apart) => LossReason::Apart,
                // It has come back meanwhile.
                Some(Reason::LinkLost) => LossReason::Link,
                _ => LossReason::Lease,
            },
        }
    }

    fn refuse_the_impatient(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let (availability, is_held) = (self.availability, self.queue.holder.is_some());
        // Also in the time in which a new tenure may not grant yet: what it lacks is what kept the ones before from it.
        let is_here = machine.token.is_some() || machine.state == State::Owner;
        let is_safe = |waiter: &Waiter| {
            let until = if is_held {
                machine.safe_until(waiter.requires())
            } else {
                machine.worth_granting_until(now, waiter.requires())
            };
            until.is_some()
        };
        self.queue.waiting.retain(|waiter| {
            let why = if availability == Availability::Leaving {
                RefusalReason::Leaving
            } else if waiter.is_patient(now) {
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
