//! The queue of this machine's clients for the token, and the one that holds it: no sockets, no clock.
//!
//! Everything goes through [`Locks::update`]: it gets the machine's state, notifies each client of its outcome, and
//! returns what the machine has to do. One client is granted the token in each turn of this node, so that the other nodes have
//! their turns.

use std::time::Duration;

use ring_control::jitterbug::{LockRequest, LossReason, RefusalReason};
use ring_host::{LockQueue, NOTICE, NotQueued};
use ring_process::{Client, ClientId};
use ring_proto::jitterbug::Command;
use ring_proto::time::Instant;

/// The machine's state, as far as the queue depends on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct MachineState {
    /// Local work may use the token now.
    pub may_use: bool,
    /// Which turn of this node it is: another number in each.
    pub turn: u64,
    /// How often local work has lost the token so far.
    pub ends: u64,
    /// Why, if it has now.
    pub loss: LossReason,
    /// Nobody else leads before then, unless messages are lost.
    pub lease_until: Instant,
    /// A lease that would grow by less is not renewed.
    pub step: Duration,
}

/// What a client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    /// It has the token: the number of this grant, and the end of its lease.
    Granted(u64, Instant),
    /// It has it for longer.
    Renewed(Instant),
    /// It does not get it.
    Refused(RefusalReason),
    /// It has it no more; when its work must have ended.
    Lost(LossReason, Instant),
}

/// What a client was granted.
#[derive(Debug)]
struct Tenure {
    /// The number of the grant.
    number: u64,
    /// [`MachineState::ends`] as it was then.
    ends: u64,
    /// The machine has the token no more.
    is_lost: bool,
}

/// The local holder and the local queue.
#[derive(Debug, Default)]
pub(super) struct Locks {
    queue: LockQueue<String, (), Tenure>,
    /// What the machine was told last of whether there is work.
    has_work: bool,
    /// The turn in which a client was granted the token last, or in which it is to go on.
    served: Option<u64>,
    is_yielding: bool,
    is_leaving: bool,
    grants: u64,
}

impl Locks {
    /// A client wants the token, whose way here takes so long at most if nobody works with it. It is told of the outcome
    /// by [`update`](Self::update), unless it is refused at once.
    pub(super) fn request(
        &mut self,
        now: Instant,
        client: Client,
        request: LockRequest,
        way: Duration,
    ) -> Result<(), RefusalReason> {
        if self.is_leaving {
            return Err(RefusalReason::Leaving);
        }
        let queued = self.queue.push(now, client, request, way, ());
        queued.map_err(|why| match why {
            NotQueued::Busy => RefusalReason::Busy,
            NotQueued::Crowded => RefusalReason::Crowded,
        })
    }

    /// Whether [`update`](Self::update) would do nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.has_work && !self.is_yielding
    }

    /// Whether a client of this machine holds the token.
    pub(super) const fn is_held(&self) -> bool {
        self.queue.holder.is_some()
    }

    /// The number of the grant under which a client works now.
    pub(super) fn held(&self) -> Option<u64> {
        self.queue.held().map(|tenure| tenure.number)
    }

    /// What the holder is called.
    pub(super) fn label(&self) -> Option<&str> {
        Some(&self.queue.holder.as_ref()?.asked.request.label)
    }

    /// Whether a client holds the token.
    pub(super) fn holds(&self, client: ClientId) -> bool {
        self.queue.holds(client)
    }

    /// Whether a client holds the token or waits for it.
    pub(super) fn concerns(&self, client: ClientId) -> bool {
        self.queue.concerns(client)
    }

    /// A client wants the token no more. Whether it had it or waited for it.
    pub(super) fn release(&mut self, client: ClientId) -> bool {
        self.queue.release(client)
    }

    /// A client is gone. Whose lock this has ended, unless that was over already: the work may go on for as long as it
    /// was told.
    pub(super) fn leave_behind(
        &mut self,
        now: Instant,
        client: ClientId,
    ) -> Option<(Client, String)> {
        let left = self.queue.leave_behind(now, client)?;
        Some((left.client, left.request.label.clone()))
    }

    /// The token is to go on as soon as its holder here has let go.
    pub(super) const fn yield_token(&mut self) {
        self.is_yielding = true;
    }

    /// The daemon shuts down: nobody is granted the token from now on.
    pub(super) const fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// When [`update`](Self::update) is to be called at the latest. A machine that leads wakes the loop often enough for
    /// renewals.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.queue.deadline()
    }

    /// Tells the clients what has become of what they asked for, and returns what the machine is to do. To be called
    /// again, with what the machine knows then, until it returns nothing.
    pub(super) fn update(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) -> Option<Command> {
        self.look_after_holder(now, machine, tell);
        self.refuse_the_impatient(now, tell);
        let is_yielding = self.is_yielding && self.queue.holder.is_none();
        if is_yielding {
            self.served = Some(machine.turn);
        }
        let is_served = machine.may_use && self.served == Some(machine.turn);
        let has_work = match &self.queue.holder {
            Some(holder) => !holder.token.is_lost || !self.queue.waiting.is_empty(),
            None => !self.queue.waiting.is_empty() && !is_served,
        };
        if std::mem::replace(&mut self.has_work, has_work) != has_work {
            return Some(Command::Work(has_work));
        }
        if is_yielding {
            self.is_yielding = false;
            return machine.may_use.then_some(Command::Yield);
        }
        if self.queue.holder.is_none() && machine.may_use && has_work {
            self.grant(now, machine, tell);
        }
        None
    }

    fn grant(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let Some(waiter) = self.queue.waiting.pop_front() else {
            return;
        };
        self.served = Some(machine.turn);
        self.grants += 1;
        let (number, until) = (self.grants, machine.lease_until);
        tell(
            waiter.client.id,
            &waiter.request,
            Notice::Granted(number, until),
        );
        let tenure = Tenure {
            number,
            ends: machine.ends,
            is_lost: false,
        };
        self.queue.hold(now, waiter, tenure, until);
    }

    fn look_after_holder(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let Some(holder) = &mut self.queue.holder else {
            return;
        };
        let client = holder.asked.client.id;
        holder.token.is_lost |= machine.ends != holder.token.ends;
        if holder.ends_by.is_some() {
            if holder.gone_at() <= Some(now) {
                self.queue.holder = None;
            }
            return;
        }
        // Who ends it by choice must not promise more than the lease does.
        let soon = (now + NOTICE).min(machine.lease_until);
        let ending = if holder.token.is_lost {
            let until = match machine.loss {
                // Its new holder may have it already.
                LossReason::StrongerToken => now,
                _ => holder.until.max(now),
            };
            Some((machine.loss, until))
        } else if self.is_leaving {
            Some((LossReason::Shutdown, soon))
        } else if self.is_yielding {
            Some((LossReason::Yield, soon))
        } else {
            let end = holder.overdue(now);
            end.map(|end| (LossReason::MaxHold, end.min(machine.lease_until)))
        };
        if let Some((why, until)) = ending {
            holder.ends_by = Some(until);
            tell(client, &holder.asked.request, Notice::Lost(why, until));
        } else if machine.lease_until.since(holder.until) >= machine.step {
            holder.until = machine.lease_until;
            tell(client, &holder.asked.request, Notice::Renewed(holder.until));
        }
    }

    fn refuse_the_impatient(
        &mut self,
        now: Instant,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let is_leaving = self.is_leaving;
        self.queue.waiting.retain(|waiter| {
            let why = if is_leaving {
                RefusalReason::Leaving
            } else if waiter.is_patient(now) {
                return true;
            } else {
                RefusalReason::Timeout
            };
            tell(waiter.client.id, &waiter.request, Notice::Refused(why));
            false
        });
    }
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;
