//! The queue of clients on this machine that want the token, and the client that holds it. This module uses no sockets
//! and no clock.
//!
//! The state machine serves one application, and the queue combines many clients into one application. The function
//! [`Locks::update`] in `granting.rs` does everything: it gets the machine's state, notifies clients, and returns the
//! next command for the machine.

mod client;
mod confirmation;
mod granting;
mod job_question;
mod jobs;
mod machine_state;
#[cfg(test)]
mod tests;

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_control::lab2::{ClientStatus, Grade, LockRequest, LossReason, RefusalReason};
use ring_host::{LockQueue, NotQueued};
use ring_process::{Client, ClientId};
use ring_proto::lab2::{OnceRequest, Pause, RunView};
use ring_proto::time::Instant;

pub(super) use client::Job;
use client::JobRequirements;
use confirmation::Confirmation;
use job_question::JobQuestion;
pub(super) use machine_state::MachineState;

/// A request to hand the token over to another member.
#[derive(Debug, Clone, Copy)]
struct YieldRequest {
    /// The member; `None` means the next member.
    to: Option<MacAddr>,
}

/// Availability of the token for the clients of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Availability {
    #[default]
    Open,
    /// Clients wait for the end of a pause.
    Paused,
    /// The daemon shuts down, and grants no token.
    Leaving,
}

/// A message for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    /// The client holds the token.
    Granted {
        token: Token,
        /// Before this time, no other client gets the token.
        until: Instant,
    },
    /// The client's lease is extended.
    Renewed {
        /// Before this new time, no other client gets the token.
        until: Instant,
    },
    /// The client does not get the token.
    Refused(RefusalReason),
    /// The client needs no token: its job already ran in this period, or is running.
    Ran {
        run: RunView,
        /// The time until the period ends.
        left: Duration,
    },
    /// The client lost the token.
    Lost {
        why: LossReason,
        /// The time by which the client's work must end.
        until: Instant,
    },
}

impl Notice {
    /// Returns the notice for a client whose job already ran.
    fn already_ran(once: &OnceRequest, run: RunView) -> Self {
        let left = once.period_left(&run);
        Self::Ran { run, left }
    }
}

#[derive(Debug, Default)]
pub(super) struct Locks {
    queue: LockQueue<Grade, Option<Job>, Token>,
    /// The time at which the holder learns that the members have not confirmed its lock again. `None` if the holder
    /// requires no confirmation.
    notice_at: Option<Instant>,
    /// Whether the last command told the machine that there is work.
    is_requested: bool,
    /// The last granted token. While other members want the token, the node grants the token only once per turn.
    last_granted: Option<Token>,
    yielding: Option<YieldRequest>,
    /// The question to the members while the token's grade is too low for every client.
    confirmation: Option<Confirmation>,
    /// The question to the members about a job.
    asking: Option<JobQuestion>,
    availability: Availability,
    /// Whether the holder may finish its work during a pause.
    is_draining: bool,
    /// The end and the reason of the next or present pause.
    pause_terms: Pause,
    /// Whether the machine still needs the command that begins, changes or ends a pause.
    must_report_pause: bool,
    /// The last client that got the token for a job.
    last_job: Option<ClientId>,
}

impl Locks {
    /// Queues a client for the token. If no program works with the token, it arrives at this node within
    /// `fetch_timeout`. [`update`](Self::update) reports the outcome, unless the client is refused at once.
    ///
    /// A client with a `job` gets the token only if the job has not run in its period. The members must know about the
    /// run before the grant.
    pub(super) fn request(
        &mut self,
        now: Instant,
        client: Client,
        request: LockRequest,
        job: Option<Job>,
        fetch_timeout: Duration,
    ) -> Result<(), RefusalReason> {
        if self.availability == Availability::Leaving {
            return Err(RefusalReason::Leaving);
        }
        if request.wait_ms == Some(0) && self.availability == Availability::Paused {
            return Err(RefusalReason::Paused);
        }
        let queued = self.queue.push(now, client, request, fetch_timeout, job);
        queued.map_err(|why| match why {
            NotQueued::Busy => RefusalReason::Busy,
            NotQueued::QueueFull => RefusalReason::QueueFull,
        })
    }

    /// Whether [`update`](Self::update) would have no effect.
    pub(super) fn is_idle(&self) -> bool {
        let nobody = self.queue.is_empty();
        nobody && !self.is_requested && self.yielding.is_none() && !self.must_report_pause
    }

    pub(super) fn holder(&self) -> Option<ClientId> {
        self.queue.holder.as_ref().map(|it| it.waiter.client.id)
    }

    pub(super) const fn is_held(&self) -> bool {
        self.queue.holder.is_some()
    }

    pub(super) fn involves(&self, client: ClientId) -> bool {
        self.queue.involves(client)
    }

    pub(super) fn holds(&self, client: ClientId) -> bool {
        self.queue.holds(client)
    }

    /// Returns the job for which a client holds the token.
    pub(super) fn job(&self, client: ClientId) -> Option<Job> {
        let holder = self.queue.holder.as_ref();
        holder
            .filter(|it| it.waiter.client.id == client)
            .and_then(|it| it.waiter.own)
    }

    /// Returns the token that a client works under.
    pub(super) fn held_token(&self) -> Option<Token> {
        self.queue.held_token().copied()
    }

    /// Handles a client that disconnected. If the client held a lock, and this lock was not already ending, the
    /// function ends the lock and returns the client. The client's work may continue until the end of its lease.
    pub(super) fn on_client_gone(
        &mut self,
        now: Instant,
        client: ClientId,
    ) -> Option<(Client, LockRequest)> {
        let left = self.queue.on_client_gone(now, client)?;
        Some((left.client, left.request.clone()))
    }

    /// Removes a client that holds the token or waits for it. Returns whether the queue contained this client.
    pub(super) fn release(&mut self, client: ClientId) -> bool {
        self.queue.release(client)
    }

    /// Hands the token over to another member as soon as the local holder releases it.
    pub(super) fn yield_to(&mut self, to: Option<MacAddr>) {
        self.yielding = Some(YieldRequest { to });
    }

    /// Begins or ends a pause. During a pause, the node owns nothing. Returns whether the call changed the node's
    /// state.
    pub(super) fn pause(&mut self, paused: bool) -> bool {
        let (from, to) = if paused {
            (Availability::Open, Availability::Paused)
        } else {
            (Availability::Paused, Availability::Open)
        };
        self.is_draining = false;
        let is_new = self.availability == from;
        if is_new {
            self.availability = to;
            self.must_report_pause = true;
        }
        is_new
    }

    /// Sets the end and the reason of the pause.
    pub(super) fn set_pause_terms(&mut self, pause: Pause) {
        self.pause_terms = pause;
        self.must_report_pause |= self.is_paused();
    }

    /// Begins a pause as soon as the holder releases the token. The holder may finish its work. Returns whether the
    /// call changed the node's state.
    pub(super) fn drain(&mut self) -> bool {
        let is_told_to_end = self.availability == Availability::Paused && !self.is_draining;
        let is_new = self.pause(true);
        self.is_draining = !is_told_to_end;
        is_new
    }

    pub(super) fn is_paused(&self) -> bool {
        self.availability == Availability::Paused
    }

    /// Whether holders may finish their work during the pause.
    pub(super) const fn is_draining(&self) -> bool {
        self.is_draining
    }

    /// Whether the daemon shuts down.
    pub(super) fn is_leaving(&self) -> bool {
        self.availability == Availability::Leaving
    }

    /// Stops granting the token, because the daemon shuts down.
    pub(super) fn stop_granting(&mut self) {
        self.availability = Availability::Leaving;
    }

    /// Returns the latest time for the next call of [`update`](Self::update).
    pub(super) fn deadline(&self) -> Option<Instant> {
        let queue = self.queue.deadline().into_iter();
        let confirmation = self.confirmation.iter().filter_map(Confirmation::deadline);
        let asking = self.asking.iter().filter_map(JobQuestion::deadline);
        let holder = self.queue.holder.as_ref();
        let notice = holder.filter(|it| it.ends_by.is_none());
        let notice = notice.and(self.notice_at);
        queue.chain(confirmation).chain(asking).chain(notice).min()
    }

    /// Returns the holder, followed by the waiting clients in their order.
    pub(super) fn clients(&self, now: Instant) -> impl Iterator<Item = ClientStatus> {
        let (holder, waiting) = (&self.queue.holder, &self.queue.waiting);
        let holder = holder
            .iter()
            .map(move |holder| client::holder_status(holder, now));
        holder.chain(waiting.iter().map(move |waiter| waiter.status(now)))
    }
}
