//! Begins and ends sessions, and notifies the clients.

use ring_codec::lab2::Token;
use ring_control::lab2::{Grade, LockRequest, LossReason, RefusalReason};
use ring_host::ENDING_NOTICE;
use ring_process::ClientId;
use ring_proto::lab2::{self, Command, Event};
use ring_proto::time::Instant;

use super::super::grades;
use super::super::locks::Notice;
use super::{
    Availability, Holder, NamedHolder, NamedLocks, ProgramLock, RingLocks, Session, Waiter,
    WantedLock, notice_at, session_of,
};

/// A notice for a client of a named lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedNotice {
    pub client: ClientId,
    pub lock: ProgramLock,
    /// The client's request. A renewal needs no request, so it contains the default value.
    pub request: LockRequest,
    pub notice: Notice,
}

impl NamedNotice {
    fn new(waiter: &Waiter, lock: ProgramLock, notice: Notice) -> Self {
        let request = match notice {
            Notice::Renewed { .. } => LockRequest::default(),
            _ => waiter.request.clone(),
        };
        Self {
            client: waiter.client.id,
            lock,
            request,
            notice,
        }
    }

    fn of_waiter(waiter: &Waiter, notice: Notice) -> Self {
        Self::new(waiter, ProgramLock::of_waiter(waiter), notice)
    }

    fn of_holder(holder: &Holder, notice: Notice) -> Self {
        Self::new(&holder.waiter, ProgramLock::of_holder(holder), notice)
    }
}

impl NamedLocks {
    /// Adds notices for clients, and returns the next command for the machine. Call this function again until it
    /// returns `None`.
    pub(crate) fn update(
        &mut self,
        now: Instant,
        availability: Availability,
        events: impl Iterator<Item = Event>,
        ring: &impl RingLocks,
        notices: &mut Vec<NamedNotice>,
    ) -> Option<Command> {
        for event in events {
            self.on_event(now, &event, ring, notices);
        }
        self.end_or_renew_locks(now, availability, ring, notices);
        self.refuse_waiting(now, availability, ring, notices);
        self.begin_or_end_sessions(availability);
        self.commands.pop_front()
    }

    fn on_event(
        &mut self,
        now: Instant,
        event: &Event,
        ring: &impl RingLocks,
        notices: &mut Vec<NamedNotice>,
    ) {
        let Some(session) = session_of(event) else {
            return;
        };
        let has_session = |own: &Session| own.number == Some(session);
        let mut waiting = self.waiting.iter();
        let waiting = waiting.find(|(_, it)| has_session(&it.own)).map(|it| *it.0);
        match (*event, waiting) {
            (Event::LockQueued { .. }, Some(client)) => {
                if let Some(waiter) = self.waiting.get_mut(&client) {
                    waiter.own.is_queued = true;
                }
            }
            (Event::LockGranted { fence, .. }, Some(client)) => {
                // If the lease has already ended, the event about the loss follows.
                let until = ring.lease_end(session).unwrap_or(now);
                self.grant(now, client, (fence, until), notices);
            }
            (Event::LockRefused { .. }, Some(client)) => {
                if let Some(waiter) = self.waiting.remove(&client) {
                    let why = RefusalReason::LockTableFull;
                    notices.push(NamedNotice::of_waiter(&waiter, Notice::Refused(why)));
                }
            }
            (Event::LockLost { .. }, _) => {
                let mut held = self.held.values_mut().map(|it| &mut it.holder);
                if let Some(holder) = held.find(|it| has_session(&it.waiter.own)) {
                    on_session_over(now, holder, notices);
                    self.held_due = Some(now);
                }
            }
            _ => {}
        }
    }

    fn grant(
        &mut self,
        now: Instant,
        client: ClientId,
        (token, until): (Token, Instant),
        notices: &mut Vec<NamedNotice>,
    ) {
        let Some(waiter) = self.waiting.remove(&client) else {
            return;
        };
        let holder = Holder {
            waiter,
            since: now,
            token,
            until,
            ends_by: None,
        };
        let notice = Notice::Granted { token, until };
        notices.push(NamedNotice::of_holder(&holder, notice));
        let notice_at = notice_at(now, until);
        let held = NamedHolder { holder, notice_at };
        self.held_due = self.held_due.into_iter().chain(held.deadline()).min();
        self.held.insert(client, held);
    }

    fn end_or_renew_locks(
        &mut self,
        now: Instant,
        availability: Availability,
        ring: &impl RingLocks,
        notices: &mut Vec<NamedNotice>,
    ) {
        // Between two renewals, most inputs change no lease.
        let informed = (ring.renewals(), availability);
        let was_informed = std::mem::replace(&mut self.informed, informed);
        if was_informed == informed && self.held_due.is_none_or(|at| at > now) {
            return;
        }
        for held in self.held.values_mut() {
            end_or_renew_lock(now, held, availability, ring, notices);
        }
        let is_over =
            |it: &NamedHolder| it.holder.ended_at().is_some_and(|ended_at| ended_at <= now);
        let held = self.held.iter().filter(|(_, it)| is_over(it));
        for client in held.map(|it| *it.0).collect::<Vec<_>>() {
            self.release(client);
        }
        self.held_due = self.held.values().filter_map(NamedHolder::deadline).min();
    }

    fn refuse_waiting(
        &mut self,
        now: Instant,
        availability: Availability,
        ring: &impl RingLocks,
        notices: &mut Vec<NamedNotice>,
    ) {
        let mut refused = Vec::new();
        for waiter in self.waiting.values_mut() {
            waiter.own.kept_until = waiter.own.kept_until.filter(|&until| until > now);
            if let Some(why) = refusal_reason(now, waiter, availability, ring) {
                refused.push(waiter.client.id);
                notices.push(NamedNotice::of_waiter(waiter, Notice::Refused(why)));
            }
        }
        for client in refused {
            self.release(client);
        }
    }

    /// Begins the sessions of waiting clients. During a pause, this machine must get no lock, so waiting clients have
    /// no sessions.
    fn begin_or_end_sessions(&mut self, availability: Availability) {
        for waiter in self.waiting.values_mut() {
            let session = match (waiter.own.number, availability) {
                (None, Availability::Open) => {
                    let number = self.next_session;
                    self.next_session = number.wrapping_add(1);
                    self.commands
                        .push_back(Command::TakeLock(machine_request(number, waiter)));
                    Some(number)
                }
                (Some(number), Availability::Paused { .. }) => {
                    self.commands.push_back(Command::ReleaseLock(number));
                    None
                }
                (number, _) => number,
            };
            waiter.own.is_queued &= session == waiter.own.number;
            waiter.own.number = session;
        }
    }
}

fn end_or_renew_lock(
    now: Instant,
    held: &mut NamedHolder,
    availability: Availability,
    ring: &impl RingLocks,
    notices: &mut Vec<NamedNotice>,
) {
    let NamedHolder {
        holder,
        notice_at: notice_due,
    } = held;
    if holder.ends_by.is_some() {
        return;
    }
    let end = holder.waiter.own.number.and_then(|it| ring.lease_end(it));
    let renewed = end.filter(|&end| end > holder.until);
    let ending = match availability {
        Availability::Leaving => Some((LossReason::Shutdown, now + ENDING_NOTICE)),
        Availability::Paused { is_draining: false } => {
            Some((LossReason::Paused, now + ENDING_NOTICE))
        }
        _ if renewed.is_none() && *notice_due <= now => Some((LossReason::Lease, holder.until)),
        _ => holder
            .due_notice(now)
            .map(|until| (LossReason::MaxHold, until)),
    };
    let notice = if let Some((why, until)) = ending {
        let until = until.min(end.unwrap_or(holder.until).max(now));
        holder.ends_by = Some(until);
        Notice::Lost { why, until }
    } else if let Some(until) = renewed {
        holder.until = until;
        *notice_due = notice_at(now, until);
        Notice::Renewed { until }
    } else {
        return;
    };
    notices.push(NamedNotice::of_holder(holder, notice));
}

/// Handles the end of the session of a holder.
fn on_session_over(now: Instant, holder: &mut Holder, notices: &mut Vec<NamedNotice>) {
    holder.waiter.own.number = None;
    if holder.ends_by.is_some() {
        return;
    }
    let why = if holder.until <= now {
        LossReason::Lease
    } else {
        LossReason::Removed
    };
    // Another program may already have the lock.
    holder.ends_by = Some(now);
    let notice = Notice::Lost { why, until: now };
    notices.push(NamedNotice::of_holder(holder, notice));
}

fn refusal_reason(
    now: Instant,
    waiter: &Waiter,
    availability: Availability,
    ring: &impl RingLocks,
) -> Option<RefusalReason> {
    if availability == Availability::Leaving {
        return Some(RefusalReason::Leaving);
    }
    let lock = waiter.own.lock;
    let is_taken = || {
        let session = waiter.own.number;
        session.is_some_and(|session| ring.is_taken(lock, session))
    };
    if waiter.still_waits(now) {
        let is_answered = waiter.own.is_queued && waiter.own.kept_until.is_none();
        let gives_up = waiter.request.wait_ms == Some(0) && is_answered;
        return (gives_up && is_taken()).then_some(RefusalReason::Busy);
    }
    let requires_members = waiter.request.require > Some(Grade::Alone);
    Some(match availability {
        Availability::Paused { .. } => RefusalReason::Paused,
        _ if requires_members && !is_taken() => RefusalReason::Grade,
        _ => RefusalReason::Timeout,
    })
}

/// Returns the state machine's request for a waiting client.
fn machine_request(session: u64, waiter: &Waiter) -> lab2::LockRequest {
    let WantedLock { name, mode } = waiter.own.lock;
    let ProgramLock { grade, program, .. } = ProgramLock::of_waiter(waiter);
    lab2::LockRequest {
        session,
        name,
        mode,
        grade: grades::for_machine(grade),
        program,
    }
}
