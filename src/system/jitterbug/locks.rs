//! The queue of this machine's clients for the token, and its holder. No sockets, no clock.
//!
//! [`Locks::update`] does everything: it gets the machine's state, notifies clients, and returns the machine's next
//! command. In each turn of this node only one client is granted the token, so that the other nodes get their turns.

use std::time::Duration;

use ring_control::jitterbug::{LockRequest, LossReason, RefusalReason};
use ring_host::{ENDING_NOTICE, LockQueue, NotQueued};
use ring_process::{Client, ClientId};
use ring_proto::jitterbug::Command;
use ring_proto::time::Instant;

/// The part of the machine's state that the queue depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct MachineState {
    /// Whether local work may use the token.
    pub may_use: bool,
    pub turn: u64,
    /// How often local work has lost the token.
    pub ends: u64,
    /// The reason if it has just lost it.
    pub loss: LossReason,
    /// No other node leads before this time, unless messages are lost.
    pub lease_until: Instant,
    /// The minimum growth of a lease for a renewal.
    pub step: Duration,
}

/// A message for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    /// It holds the token: the number of the grant, and the end of its lease.
    Granted(u64, Instant),
    /// Its lease is extended to this time.
    Renewed(Instant),
    /// It does not get the token.
    Refused(RefusalReason),
    /// It has lost the token; its work must have ended by this time.
    Lost(LossReason, Instant),
}

/// A granted token.
#[derive(Debug)]
struct Tenure {
    number: u64,
    /// [`MachineState::ends`] at the time of the grant.
    ends: u64,
    /// Whether the machine has lost the token since.
    is_lost: bool,
}

#[derive(Debug, Default)]
pub(super) struct Locks {
    queue: LockQueue<String, (), Tenure>,
    /// Whether the machine was told last that there is work.
    has_work: bool,
    /// The turn in which the last client was granted the token, or which is to end.
    served_turn: Option<u64>,
    is_yielding: bool,
    is_leaving: bool,
    grants: u64,
}

impl Locks {
    /// Queues a client for the token. Fetching it takes at most `fetch_timeout` if nobody works with it.
    /// [`update`](Self::update) reports the outcome, unless the client is refused at once.
    pub(super) fn request(
        &mut self,
        now: Instant,
        client: Client,
        request: LockRequest,
        fetch_timeout: Duration,
    ) -> Result<(), RefusalReason> {
        if self.is_leaving {
            return Err(RefusalReason::Leaving);
        }
        let queued = self.queue.push(now, client, request, fetch_timeout, ());
        queued.map_err(|why| match why {
            NotQueued::Busy => RefusalReason::Busy,
            NotQueued::QueueFull => RefusalReason::QueueFull,
        })
    }

    /// Whether [`update`](Self::update) would do nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.has_work && !self.is_yielding
    }

    pub(super) const fn is_held(&self) -> bool {
        self.queue.holder.is_some()
    }

    /// Returns the number of the grant under which a client works.
    pub(super) fn held_grant(&self) -> Option<u64> {
        self.queue.held_token().map(|tenure| tenure.number)
    }

    /// Returns the holder's name for itself.
    pub(super) fn label(&self) -> Option<&str> {
        Some(&self.queue.holder.as_ref()?.waiter.request.label)
    }

    pub(super) fn holds(&self, client: ClientId) -> bool {
        self.queue.holds(client)
    }

    pub(super) fn involves(&self, client: ClientId) -> bool {
        self.queue.involves(client)
    }

    /// Removes a client that holds the token or waits for it. Returns whether it did.
    pub(super) fn release(&mut self, client: ClientId) -> bool {
        self.queue.release(client)
    }

    /// Handles a client that has disconnected. Returns the client whose lock this has ended, unless it was ending
    /// before. Its work may continue until the end of its lease.
    pub(super) fn on_client_gone(
        &mut self,
        now: Instant,
        client: ClientId,
    ) -> Option<(Client, String)> {
        let left = self.queue.on_client_gone(now, client)?;
        Some((left.client, left.request.label.clone()))
    }

    /// Hands the token over as soon as its local holder has released it.
    pub(super) const fn yield_token(&mut self) {
        self.is_yielding = true;
    }

    /// Stops granting the token, because the daemon shuts down.
    pub(super) const fn stop_granting(&mut self) {
        self.is_leaving = true;
    }

    /// Returns when to call [`update`](Self::update) at the latest. A machine that leads wakes the loop often enough
    /// for renewals.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.queue.deadline()
    }

    /// Notifies clients, and returns the machine's next command. Call it again with the machine's new state until it
    /// returns `None`.
    pub(super) fn update(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) -> Option<Command> {
        self.update_holder(now, machine, tell);
        self.refuse_expired(now, tell);
        let is_yielding = self.is_yielding && self.queue.holder.is_none();
        if is_yielding {
            self.served_turn = Some(machine.turn);
        }
        let is_served = machine.may_use && self.served_turn == Some(machine.turn);
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
        self.served_turn = Some(machine.turn);
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

    fn update_holder(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let Some(holder) = &mut self.queue.holder else {
            return;
        };
        let client = holder.waiter.client.id;
        holder.token.is_lost |= machine.ends != holder.token.ends;
        if holder.ends_by.is_some() {
            if holder.ended_at() <= Some(now) {
                self.queue.holder = None;
            }
            return;
        }
        // A voluntary end must not promise more than the lease.
        let soon = (now + ENDING_NOTICE).min(machine.lease_until);
        let ending = if holder.token.is_lost {
            let until = match machine.loss {
                // The new holder may have it already.
                LossReason::StrongerToken => now,
                _ => holder.until.max(now),
            };
            Some((machine.loss, until))
        } else if self.is_leaving {
            Some((LossReason::Shutdown, soon))
        } else if self.is_yielding {
            Some((LossReason::Yield, soon))
        } else {
            let end = holder.due_notice(now);
            end.map(|end| (LossReason::MaxHold, end.min(machine.lease_until)))
        };
        if let Some((why, until)) = ending {
            holder.ends_by = Some(until);
            tell(client, &holder.waiter.request, Notice::Lost(why, until));
        } else if machine.lease_until.since(holder.until) >= machine.step {
            holder.until = machine.lease_until;
            tell(
                client,
                &holder.waiter.request,
                Notice::Renewed(holder.until),
            );
        }
    }

    fn refuse_expired(
        &mut self,
        now: Instant,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let is_leaving = self.is_leaving;
        self.queue.waiting.retain(|waiter| {
            let why = if is_leaving {
                RefusalReason::Leaving
            } else if waiter.still_waits(now) {
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
