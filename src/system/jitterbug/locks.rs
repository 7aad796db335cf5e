//! The queue of this machine's clients for the token, and the one that holds it: no sockets, no clock.
//!
//! Everything goes through [`Locks::update`]: it gets the machine's state, notifies each client of its outcome, and
//! returns what the machine has to do. One client is granted the token in each turn of this node, so that the other nodes have
//! their turns.

use std::collections::VecDeque;
use std::time::Duration;

use ring_proto::jitterbug::Command;
use ring_proto::time::Instant;

use crate::control::jitterbug::{LockRequest, LossReason, RefusalReason};
use crate::host::{Client, ClientId};

/// The most clients that wait at a time.
pub const MAX_WAITING: usize = 400;
/// How long a holder has to end its work when somebody else decides that it ends.
const NOTICE: Duration = Duration::from_secs(1);

/// The machine's state, as far as the queue depends on it.
#[derive(Debug, Clone, Copy)]
pub struct MachineState {
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
pub enum Notice {
    /// It has the token: the number of this grant, and the end of its lease.
    Granted(u64, Instant),
    /// It has it for longer.
    Renewed(Instant),
    /// It does not get it.
    Refused(RefusalReason),
    /// It has it no more; when its work must have ended.
    Lost(LossReason, Instant),
}

/// A client that waits.
#[derive(Debug)]
struct Waiter {
    client: Client,
    request: LockRequest,
    /// When it gives up.
    until: Option<Instant>,
}

/// The client that has the token.
#[derive(Debug)]
struct Holder {
    client: Client,
    request: LockRequest,
    since: Instant,
    /// The number of its grant.
    number: u64,
    /// [`MachineState::ends`] as it was then.
    ends: u64,
    /// The end of the lease that it was told last.
    until: Instant,
    /// When its work must have ended, as it was told.
    ends_by: Option<Instant>,
    /// The machine has the token no more.
    is_lost: bool,
}

/// The local holder and the local queue.
#[derive(Debug, Default)]
pub struct Locks {
    holder: Option<Holder>,
    waiting: VecDeque<Waiter>,
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
    ///
    /// # Errors
    /// Why it does not get it.
    pub fn request(
        &mut self,
        now: Instant,
        client: Client,
        request: LockRequest,
        way: Duration,
    ) -> Result<(), RefusalReason> {
        let is_busy = self.holder.is_some() || !self.waiting.is_empty();
        if self.is_leaving {
            return Err(RefusalReason::Leaving);
        } else if request.wait_ms == Some(0) && is_busy {
            return Err(RefusalReason::Busy);
        } else if self.waiting.len() >= MAX_WAITING {
            return Err(RefusalReason::Crowded);
        }
        let patience = request.wait_ms.map(|ms| match ms {
            0 => way,
            ms => Duration::from_millis(ms),
        });
        self.waiting.push_back(Waiter {
            client,
            request,
            until: patience.map(|patience| now + patience),
        });
        Ok(())
    }

    /// Whether [`update`](Self::update) would do nothing.
    pub fn is_idle(&self) -> bool {
        let nobody = self.holder.is_none() && self.waiting.is_empty();
        nobody && !self.has_work && !self.is_yielding
    }

    /// Whether a client of this machine holds the token.
    pub const fn is_held(&self) -> bool {
        self.holder.is_some()
    }

    /// The number of the grant under which a client works now.
    pub fn held(&self) -> Option<u64> {
        let holder = self.holder.as_ref().filter(|it| it.ends_by.is_none());
        holder.map(|holder| holder.number)
    }

    /// What the holder is called.
    pub fn label(&self) -> Option<&str> {
        Some(&self.holder.as_ref()?.request.label)
    }

    /// Whether a client holds the token.
    pub fn holds(&self, client: ClientId) -> bool {
        self.holder
            .as_ref()
            .is_some_and(|it| it.client.id == client)
    }

    /// Whether a client holds the token or waits for it.
    pub fn concerns(&self, client: ClientId) -> bool {
        self.holds(client) || self.waiting.iter().any(|it| it.client.id == client)
    }

    /// A client wants the token no more. Whether it had it or waited for it.
    pub fn release(&mut self, client: ClientId) -> bool {
        let was_concerned = self.concerns(client);
        self.holder.take_if(|holder| holder.client.id == client);
        self.waiting.retain(|waiter| waiter.client.id != client);
        was_concerned
    }

    /// A client is gone. If it had the token and did not say that its work has ended, that may go on for as long as it was
    /// told. Whose lock this has ended, unless that was over already.
    pub fn leave_behind(&mut self, now: Instant, client: ClientId) -> Option<(Client, String)> {
        match &mut self.holder {
            Some(holder) if holder.client.id == client => {
                if holder.ends_by.is_some() {
                    return None;
                }
                holder.ends_by = Some(now);
                Some((holder.client, holder.request.label.clone()))
            }
            _ => {
                self.release(client);
                None
            }
        }
    }

    /// The token is to go on as soon as its holder here has let go.
    pub const fn yield_token(&mut self) {
        self.is_yielding = true;
    }

    /// The daemon shuts down: nobody is granted the token from now on.
    pub const fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// When [`update`](Self::update) is to be called at the latest. A machine that leads wakes the loop often enough for
    /// renewals.
    pub fn deadline(&self) -> Option<Instant> {
        let holder = self.holder.iter().filter_map(Holder::deadline);
        let waiting = self.waiting.iter().filter_map(|waiter| waiter.until);
        holder.chain(waiting).min()
    }

    /// Tells the clients what has become of what they asked for, and returns what the machine is to do. To be called
    /// again, with what the machine knows then, until it returns nothing.
    pub fn update(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) -> Option<Command> {
        self.look_after_holder(now, machine, tell);
        self.refuse_the_impatient(now, tell);
        let is_yielding = self.is_yielding && self.holder.is_none();
        if is_yielding {
            self.served = Some(machine.turn);
        }
        let is_served = machine.may_use && self.served == Some(machine.turn);
        let has_work = match &self.holder {
            Some(holder) => !holder.is_lost || !self.waiting.is_empty(),
            None => !self.waiting.is_empty() && !is_served,
        };
        if std::mem::replace(&mut self.has_work, has_work) != has_work {
            return Some(Command::Work(has_work));
        }
        if is_yielding {
            self.is_yielding = false;
            return machine.may_use.then_some(Command::Yield);
        }
        if self.holder.is_none() && machine.may_use && has_work {
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
        let Some(Waiter {
            client, request, ..
        }) = self.waiting.pop_front()
        else {
            return;
        };
        self.served = Some(machine.turn);
        self.grants += 1;
        let (number, until) = (self.grants, machine.lease_until);
        tell(client.id, &request, Notice::Granted(number, until));
        self.holder = Some(Holder {
            client,
            request,
            since: now,
            number,
            ends: machine.ends,
            until,
            ends_by: None,
            is_lost: false,
        });
    }

    fn look_after_holder(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let Some(holder) = &mut self.holder else {
            return;
        };
        holder.is_lost |= machine.ends != holder.ends;
        if holder.ends_by.is_some() {
            if holder.gone_at() <= Some(now) {
                self.holder = None;
            }
            return;
        }
        // Who ends it by choice must not promise more than the lease does.
        let soon = (now + NOTICE).min(machine.lease_until);
        let ending = if holder.is_lost {
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
            tell(holder.client.id, &holder.request, Notice::Lost(why, until));
        } else if machine.lease_until.since(holder.until) >= machine.step {
            holder.until = machine.lease_until;
            tell(
                holder.client.id,
                &holder.request,
                Notice::Renewed(holder.until),
            );
        }
    }

    fn refuse_the_impatient(
        &mut self,
        now: Instant,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let is_leaving = self.is_leaving;
        self.waiting.retain(|waiter| {
            let why = if is_leaving {
                RefusalReason::Leaving
            } else if waiter.until.is_none_or(|until| until > now) {
                return true;
            } else {
                RefusalReason::Timeout
            };
            tell(waiter.client.id, &waiter.request, Notice::Refused(why));
            false
        });
    }
}

impl Holder {
    fn deadline(&self) -> Option<Instant> {
        self.gone_at().or_else(|| Some(self.warn_at()?.0))
    }

    /// When none of its work is left, if it was told to end: it may not have heard that.
    fn gone_at(&self) -> Option<Instant> {
        self.ends_by.map(|ends_by| ends_by.max(self.until))
    }

    /// The end of its maximum hold, if it must get notice of that now.
    fn overdue(&self, now: Instant) -> Option<Instant> {
        let (warn_at, end) = self.warn_at()?;
        (warn_at <= now).then_some(end)
    }

    /// When it gets notice of its end, and the end.
    fn warn_at(&self) -> Option<(Instant, Instant)> {
        let max_hold = self.request.max_hold_ms.map(Duration::from_millis)?;
        let warning = NOTICE.min(max_hold / 4);
        let end = self.since + max_hold;
        Some((self.since + max_hold.saturating_sub(warning), end))
    }
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;
