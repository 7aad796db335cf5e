//! The queue of clients on this machine that want the token, and the client that holds it. This module uses no sockets
//! and no clock.
//!
//! [`Locks::update`] does everything: it gets the state of the state machine, notifies clients, and returns the next
//! command for the machine. In each turn of this node, only one client is granted the token, so that the other nodes
//! get their turns.

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
    /// The number of times that local work lost the token.
    pub ends: u64,
    /// The reason of the loss, if local work lost the token just now.
    pub loss: LossReason,
    /// The end of the lease: no other node leads before this time, unless messages are lost.
    pub lease_until: Instant,
    /// The minimum time by which a renewal extends a lease. Shorter extensions are not reported.
    pub step: Duration,
}

/// A message for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    /// The client holds the token. The notice contains the number of the grant, and the end of the client's lease.
    Granted(u64, Instant),
    /// The client's lease is extended to this time.
    Renewed(Instant),
    /// The client does not get the token.
    Refused(RefusalReason),
    /// The client lost the token. The work of the client must end by this time.
    Lost(LossReason, Instant),
}

/// A granted token.
#[derive(Debug)]
struct Tenure {
    number: u64,
    /// The value of [`MachineState::ends`] when the client got the token.
    ends: u64,
    /// Whether the machine lost the token after the grant.
    is_lost: bool,
}

#[derive(Debug, Default)]
pub(super) struct Locks {
    queue: LockQueue<String, (), Tenure>,
    /// Whether the last command informed the machine that there is work.
    has_work: bool,
    /// The turn in which this node grants the token to no more clients. In this turn of the token, a client already got
    /// the token, or the node must hand the token over.
    served_turn: Option<u64>,
    is_yielding: bool,
    is_leaving: bool,
    grants: u64,
}

impl Locks {
    /// Queues a client for the token. If no program works with the token, it arrives at this node within
    /// `fetch_timeout`. [`update`](Self::update) reports the outcome, unless the client is refused at once.
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

    /// Whether [`update`](Self::update) would have no effect.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.has_work && !self.is_yielding
    }

    pub(super) const fn is_held(&self) -> bool {
        self.queue.holder.is_some()
    }

    /// Returns the number of the grant that a client works under.
    pub(super) fn held_grant(&self) -> Option<u64> {
        self.queue.held_token().map(|tenure| tenure.number)
    }

    /// Returns the label of the client that holds the token.
    pub(super) fn label(&self) -> Option<&str> {
        Some(&self.queue.holder.as_ref()?.waiter.request.label)
    }

    pub(super) fn holds(&self, client: ClientId) -> bool {
        self.queue.holds(client)
    }

    pub(super) fn involves(&self, client: ClientId) -> bool {
        self.queue.involves(client)
    }

    /// Removes a client that holds the token or waits for it. Returns whether the queue contained this client.
    pub(super) fn release(&mut self, client: ClientId) -> bool {
        self.queue.release(client)
    }

    /// Handles a client that disconnected. If the client held a lock, and this lock was not already ending, the
    /// function ends the lock and returns the client. The client's work may continue until the end of its lease.
    pub(super) fn on_client_gone(
        &mut self,
        now: Instant,
        client: ClientId,
    ) -> Option<(Client, String)> {
        let left = self.queue.on_client_gone(now, client)?;
        Some((left.client, left.request.label.clone()))
    }

    /// Hands the token over as soon as the local holder releases it.
    pub(super) const fn yield_token(&mut self) {
        self.is_yielding = true;
    }

    /// Stops granting the token, because the daemon shuts down.
    pub(super) const fn stop_granting(&mut self) {
        self.is_leaving = true;
    }

    /// Returns the latest time for the next call of [`update`](Self::update). Renewals need no deadline: a state
    /// machine that leads wakes the loop often enough.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.queue.deadline()
    }

    /// Notifies clients, and returns the next command for the machine. Call this function again with the machine's new
    /// state until it returns `None`.
    pub(super) fn update(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) -> Option<Command> {
        self.end_or_renew_lock(now, machine, tell);
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

    fn end_or_renew_lock(
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
        // If the node ends the hold voluntarily, the client must not get more time than its lease.
        let soon = (now + ENDING_NOTICE).min(machine.lease_until);
        let ending = if holder.token.is_lost {
            let until = match machine.loss {
                // The new holder may already have the token.
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
