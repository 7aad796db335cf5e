//! The queue of this machine's clients for the token, and its holder. No sockets, no clock.
//!
//! The machine serves one application, and the queue combines many clients into one. [`Locks::update`] in
//! `granting.rs` does everything: it gets the machine's state, notifies clients, and returns the machine's next
//! command.

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
use ring_proto::lab2::{OnceRequest, RunView};
use ring_proto::time::Instant;

pub(super) use client::Job;
use client::JobRequirements;
use confirmation::Confirmation;
use job_question::JobQuestion;
pub(super) use machine_state::MachineState;

/// A request to hand the token to another member.
#[derive(Debug, Clone, Copy)]
struct YieldRequest {
    /// The member, or `None` for the next one.
    to: Option<MacAddr>,
}

/// Whether clients may be granted the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Availability {
    #[default]
    Open,
    /// Clients wait for the end of a pause.
    Paused,
    /// The daemon shuts down.
    Leaving,
}

/// A message for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    /// It holds the token.
    Granted {
        token: Token,
        /// No other client is granted it before then.
        until: Instant,
    },
    /// Its lease is extended.
    Renewed {
        /// No other client is granted the token before then.
        until: Instant,
    },
    /// It does not get the token.
    Refused(RefusalReason),
    /// It needs no token: its job has run in this period, or is running.
    Ran {
        run: RunView,
        /// The time until the period ends.
        left: Duration,
    },
    /// It has lost the token.
    Lost {
        why: LossReason,
        /// The time by which its work must have ended.
        until: Instant,
    },
}

impl Notice {
    /// Makes the notice for a client whose job has run.
    fn already_ran(once: &OnceRequest, run: RunView) -> Self {
        let left = once.period_left(&run);
        Self::Ran { run, left }
    }
}

#[derive(Debug, Default)]
pub(super) struct Locks {
    queue: LockQueue<Grade, Option<Job>, Token>,
    /// Whether the machine was told that there is work.
    is_requested: bool,
    /// The last granted token. While others want it, it is granted only once.
    last_granted: Option<Token>,
    yielding: Option<YieldRequest>,
    /// The question to the members while the token's grade is too low for every client.
    confirmation: Option<Confirmation>,
    /// The question to the members about a job.
    asking: Option<JobQuestion>,
    availability: Availability,
    /// Whether the holder may finish its work during a pause.
    is_draining: bool,
    /// Whether the machine must still be told of a pause or its end.
    must_report_pause: bool,
    /// The client that was last granted the token for a job.
    last_job: Option<ClientId>,
}

impl Locks {
    /// Queues a client for the token. Fetching it takes at most `fetch_timeout` if nobody works with it.
    /// [`update`](Self::update) reports the outcome, unless the client is refused at once.
    ///
    /// A client with a `job` is granted the token only if the job has not run in its period, and once the members
    /// know of the run.
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

    /// Whether [`update`](Self::update) would do nothing.
    pub(super) fn is_idle(&self) -> bool {
        let nobody = self.queue.is_empty();
        nobody && !self.is_requested && self.yielding.is_none() && !self.must_report_pause
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

    /// Returns the token under which a client works.
    pub(super) fn held_token(&self) -> Option<Token> {
        self.queue.held_token().copied()
    }

    /// Handles a client that has disconnected. Returns the client whose lock this has ended, unless it was ending
    /// before. Its work may continue until the end of its lease.
    pub(super) fn on_client_gone(
        &mut self,
        now: Instant,
        client: ClientId,
    ) -> Option<(Client, LockRequest)> {
        let left = self.queue.on_client_gone(now, client)?;
        Some((left.client, left.request.clone()))
    }

    /// Removes a client that holds the token or waits for it. Returns whether it did.
    pub(super) fn release(&mut self, client: ClientId) -> bool {
        self.queue.release(client)
    }

    /// Hands the token to another member as soon as its local holder has released it.
    pub(super) fn yield_to(&mut self, to: Option<MacAddr>) {
        self.yielding = Some(YieldRequest { to });
    }

    /// Begins or ends a pause, in which the node owns nothing. Returns whether that is new.
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

    /// Begins a pause as soon as the holder has released the token. The holder is not told to end. Returns whether
    /// that is new.
    pub(super) fn drain(&mut self) -> bool {
        let is_told_to_end = self.availability == Availability::Paused && !self.is_draining;
        let is_new = self.pause(true);
        self.is_draining = !is_told_to_end;
        is_new
    }

    pub(super) fn is_paused(&self) -> bool {
        self.availability == Availability::Paused
    }

    /// Whether the daemon shuts down.
    pub(super) fn is_leaving(&self) -> bool {
        self.availability == Availability::Leaving
    }

    /// Stops granting the token, because the daemon shuts down.
    pub(super) fn stop_granting(&mut self) {
        self.availability = Availability::Leaving;
    }

    /// Returns when to call [`update`](Self::update) at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let queue = self.queue.deadline().into_iter();
        let confirmation = self.confirmation.iter().filter_map(Confirmation::deadline);
        let asking = self.asking.iter().filter_map(JobQuestion::deadline);
        queue.chain(confirmation).chain(asking).min()
    }

    /// Returns the holder, and then the waiting clients in order.
    pub(super) fn clients(&self, now: Instant) -> impl Iterator<Item = ClientStatus> {
        let (holder, waiting) = (&self.queue.holder, &self.queue.waiting);
        let holder = holder
            .iter()
            .map(move |holder| client::holder_status(holder, now));
        holder.chain(waiting.iter().map(move |waiter| waiter.status(now)))
    }
}
