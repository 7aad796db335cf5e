//! The clients of this machine that hold named locks or wait for them. This module uses no sockets and no clock.
//!
//! The owner of the token grants named locks, so this module has no queue. Each client has a session of the state
//! machine. [`NamedLocks::update`] notifies clients, and returns the next command for the machine.

mod program_lock;
mod ring_locks;
mod sessions;
#[cfg(test)]
mod tests;
pub(super) mod texts;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ring_client::fencing::FencingToken;
use ring_client::lease::Lease;
use ring_client::lock::MARGINS;
use ring_codec::lab2::{LockMode, Token};
use ring_control::lab2::{Grade, LockRequest, RefusalReason};
use ring_host::WAITING_CLIENTS_MAX;
use ring_process::{Client, ClientId};
use ring_proto::lab2::{Command, Event, LockName};
use ring_proto::time::Instant;

pub(super) use program_lock::{ProgramLock, mode_name};
use ring_locks::RingLocks;
pub(super) use sessions::NamedNotice;

/// The share of a lease by which the notice about a missing renewal comes before the client's own warning. The client
/// then knows the reason of the loss.
const NOTICE_LEAD_DIVISOR: u32 = 64;

/// A named lock that a client wants or holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WantedLock {
    pub name: LockName,
    pub mode: LockMode,
}

/// The session of a client in the state machine.
#[derive(Debug)]
struct Session {
    lock: WantedLock,
    /// The number of the session; `None` while the state machine has no such session.
    number: Option<u64>,
    /// Whether the owner has put the session into the queue of the lock.
    is_queued: bool,
    /// Until this time, the holder may be a member that only keeps a lock that its program has released. It is `None`
    /// after this time.
    kept_until: Option<Instant>,
}

/// The times for which a client that does not wait for other programs is not refused.
#[derive(Debug, Clone, Copy)]
pub(super) struct PollTimes {
    /// The maximum time until the owner's answer.
    pub answer: Duration,
    /// The time for which members keep released locks.
    pub kept: Duration,
}

type Waiter = ring_host::Waiter<Grade, Session>;
type Holder = ring_host::Holder<Grade, Session, Token>;

/// A client that holds a named lock.
#[derive(Debug)]
struct NamedHolder {
    holder: Holder,
    /// The time at which the client gets notice that its lease was not renewed.
    notice_at: Instant,
}

impl NamedHolder {
    /// Returns the time at which the lock needs attention, even if nothing changes.
    fn deadline(&self) -> Option<Instant> {
        let notice_at = self.holder.ends_by.is_none().then_some(self.notice_at);
        self.holder.deadline().into_iter().chain(notice_at).min()
    }
}

/// The state of the node that affects its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Availability {
    #[default]
    Open,
    /// Clients wait for the end of a pause. During a draining pause, holders may finish their work.
    Paused { is_draining: bool },
    /// The daemon shuts down.
    Leaving,
}

/// The clients that hold named locks or wait for them.
#[derive(Debug)]
pub(super) struct NamedLocks {
    waiting: BTreeMap<ClientId, Waiter>,
    held: BTreeMap<ClientId, NamedHolder>,
    /// A lower bound of the time at which a held lock needs attention, even if nothing changes.
    held_due: Option<Instant>,
    next_session: u64,
    commands: VecDeque<Command>,
    /// The number of renewals, and the availability, when the holders were last informed.
    informed: (u64, Availability),
}

impl NamedLocks {
    /// Creates the value without clients. The numbers of sessions begin with `first_session`. This number must be
    /// random, because no number may be used again after a restart.
    pub(super) const fn new(first_session: u64) -> Self {
        Self {
            waiting: BTreeMap::new(),
            held: BTreeMap::new(),
            held_due: None,
            next_session: first_session,
            commands: VecDeque::new(),
            informed: (0, Availability::Open),
        }
    }

    /// Adds a client that wants a lock. A client that does not wait for other programs waits for the owner's answer, at
    /// most for the time until an answer.
    pub(super) fn request(
        &mut self,
        now: Instant,
        client: Client,
        lock: WantedLock,
        request: LockRequest,
        (times, availability): (PollTimes, Availability),
    ) -> Result<(), RefusalReason> {
        match availability {
            Availability::Leaving => return Err(RefusalReason::Leaving),
            Availability::Paused { .. } if request.wait_ms == Some(0) => {
                return Err(RefusalReason::Paused);
            }
            _ => {}
        }
        if self.is_held_under(lock.name, request.under.as_deref()) {
            return Err(RefusalReason::AlreadyHeld);
        }
        if self.waiting.len() >= WAITING_CLIENTS_MAX {
            return Err(RefusalReason::QueueFull);
        }
        let wait_max = request.wait_ms.map(|ms| match ms {
            0 => times.answer,
            ms => Duration::from_millis(ms),
        });
        let waiter = Waiter {
            client,
            request,
            since: now,
            until: wait_max.map(|wait_max| now + wait_max),
            own: Session {
                lock,
                number: None,
                is_queued: false,
                kept_until: Some(now + times.kept),
            },
        };
        self.waiting.insert(client.id, waiter);
        Ok(())
    }

    /// Whether a client of this machine holds the lock with this name under this fencing token.
    fn is_held_under(&self, name: LockName, fencing: Option<&str>) -> bool {
        let fencing: Option<FencingToken> = fencing.and_then(|text| text.parse().ok());
        let mut held = self.held.values().map(|it| &it.holder);
        fencing.is_some_and(|fencing| {
            held.any(|it| {
                it.waiter.own.lock.name == name && FencingToken::from(it.token) == fencing
            })
        })
    }

    /// Returns the name of the lock that a client of this machine holds under this fencing token.
    pub(super) fn name_of(&self, fencing: &str) -> Option<LockName> {
        let names = self.held.values().map(|it| it.holder.waiter.own.lock.name);
        names
            .into_iter()
            .find(|&name| self.is_held_under(name, Some(fencing)))
    }

    /// Whether [`update`](Self::update) would have no effect.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.is_busy()
    }

    /// Whether a client holds a lock, or the state machine has not got the command for its release yet.
    pub(super) fn is_busy(&self) -> bool {
        !self.held.is_empty() || !self.commands.is_empty()
    }

    pub(super) fn holders(&self) -> impl Iterator<Item = ClientId> {
        self.held.keys().copied()
    }

    pub(super) fn holds(&self, client: ClientId) -> bool {
        self.held.contains_key(&client)
    }

    pub(super) fn involves(&self, client: ClientId) -> bool {
        self.holds(client) || self.waiting.contains_key(&client)
    }

    /// Returns the lock that a client holds.
    pub(super) fn held_lock(&self, client: ClientId) -> Option<ProgramLock> {
        let held = self.held.get(&client)?;
        Some(ProgramLock::of_holder(&held.holder))
    }

    /// Handles a client that disconnected. If the client held a lock, and this lock was not already ending, the
    /// function ends the lock and returns the client's request. The client's work may continue until the end of its
    /// lease.
    pub(super) fn on_client_gone(
        &mut self,
        now: Instant,
        client: ClientId,
    ) -> Option<(ProgramLock, LockRequest)> {
        let Some(NamedHolder { holder, .. }) = self.held.get_mut(&client) else {
            self.release(client);
            return None;
        };
        if holder.ends_by.is_some() {
            return None;
        }
        holder.ends_by = Some(now);
        self.held_due = Some(now);
        let lock = ProgramLock::of_holder(holder);
        Some((lock, holder.waiter.request.clone()))
    }

    /// Removes a client that holds a lock or waits for it. Returns whether there was such a client.
    pub(super) fn release(&mut self, client: ClientId) -> bool {
        let waiter = self.waiting.remove(&client);
        let holder = self.held.remove(&client).map(|it| it.holder.waiter);
        let Some(waiter) = waiter.or(holder) else {
            return false;
        };
        self.end_session(waiter.own.number);
        true
    }

    fn end_session(&mut self, number: Option<u64>) {
        self.commands.extend(number.map(Command::ReleaseLock));
    }

    /// Returns the latest time for the next call of [`update`](Self::update).
    pub(super) fn deadline(&self) -> Option<Instant> {
        if !self.commands.is_empty() {
            return Some(Instant::default());
        }
        let waiting = self.waiting.values().flat_map(|waiter| {
            let polls = waiter.request.wait_ms == Some(0);
            let kept_until = waiter.own.kept_until.filter(|_| polls);
            waiter.until.into_iter().chain(kept_until)
        });
        // After the release of all locks, the field may still have an old time.
        let held_due = self.held_due.filter(|_| !self.held.is_empty());
        waiting.chain(held_due).min()
    }
}

/// Returns the time at which a client gets notice that its lease was not renewed. At this time, the client begins to
/// end its work in any case.
fn notice_at(now: Instant, until: Instant) -> Instant {
    let lead = until.since(now) / NOTICE_LEAD_DIVISOR;
    Lease::new(until, now, MARGINS).warn_at().before(lead)
}

/// Returns the number of the session that an event is about.
pub(super) const fn session_of(event: &Event) -> Option<u64> {
    match *event {
        Event::LockQueued { session }
        | Event::LockGranted { session, .. }
        | Event::LockRefused { session }
        | Event::LockLost { session } => Some(session),
        _ => None,
    }
}
