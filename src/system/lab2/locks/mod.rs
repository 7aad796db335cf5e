//! The queue of this machine's clients for the token, and the one that holds it: no sockets, no clock.
//!
//! The machine serves one application; the queue makes one of many clients. Everything goes through
//! [`Locks::update`]: it gets the machine's state, notifies each client of its outcome, and returns what the
//! machine has to do.

mod asking;
mod client;
mod confirmation;
mod granting;
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

use asking::Asking;
use client::Asks;
pub(super) use client::Job;
use confirmation::Confirmation;
pub(super) use machine_state::MachineState;

/// The token is to go to another member.
#[derive(Debug, Clone, Copy)]
struct Yielding {
    /// To this one, or the next.
    to: Option<MacAddr>,
}

/// Whether anybody is granted the token here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Availability {
    #[default]
    Open,
    /// Not for now.
    Paused,
    /// The daemon shuts down.
    Leaving,
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    /// It has the token.
    Granted {
        /// The token.
        token: Token,
        /// Nobody else is granted it before then.
        until: Instant,
    },
    /// It is safe for longer.
    Renewed {
        /// Nobody else is granted the token before then.
        until: Instant,
    },
    /// It does not get the token.
    Refused(RefusalReason),
    /// It needs no token: its job has run in this period, or runs.
    Ran {
        /// The run.
        run: RunView,
        /// The time until its period ends.
        left: Duration,
    },
    /// It has the token no more.
    Lost {
        /// Why.
        why: LossReason,
        /// When its work must have ended.
        until: Instant,
    },
}

impl Notice {
    /// Makes the notice for a client whose job this run makes needless.
    fn has_run(once: &OnceRequest, run: RunView) -> Self {
        let left = once.period_left(&run);
        Self::Ran { run, left }
    }
}

/// The local holder and the local queue.
#[derive(Debug, Default)]
pub(super) struct Locks {
    queue: LockQueue<Grade, Option<Job>, Token>,
    /// The machine was told that there is work.
    wanted: bool,
    /// The token that was granted last: nobody of this machine is granted it again while others
    /// want it.
    served: Option<Token>,
    yielding: Option<Yielding>,
    /// What is waited for if the token is here, but not safe enough for anybody.
    confirmation: Option<Confirmation>,
    /// What the members are asked about if they are asked about a job.
    asking: Option<Asking>,
    availability: Availability,
    /// In a pause the holder ends its work in its own time.
    draining: bool,
    /// The machine is to be told of a pause, or its end.
    pausing: bool,
    /// The client that was granted the token for a job last.
    last_job: Option<ClientId>,
}

impl Locks {
    /// A client wants the token, whose way here takes so long at most if nobody works with it, perhaps for a job: then
    /// it is granted the token if the job has not run in its period, once the members know of the run. It is told of
    /// the outcome by [`update`](Self::update), unless it is refused at once.
    pub(super) fn request(
        &mut self,
        now: Instant,
        client: Client,
        request: LockRequest,
        job: Option<Job>,
        way: Duration,
    ) -> Result<(), RefusalReason> {
        if self.availability == Availability::Leaving {
            return Err(RefusalReason::Leaving);
        }
        if request.wait_ms == Some(0) && self.availability == Availability::Paused {
            return Err(RefusalReason::Paused);
        }
        let queued = self.queue.push(now, client, request, way, job);
        queued.map_err(|why| match why {
            NotQueued::Busy => RefusalReason::Busy,
            NotQueued::Crowded => RefusalReason::Crowded,
        })
    }

    /// Whether [`update`](Self::update) would do nothing.
    pub(super) fn is_idle(&self) -> bool {
        let nobody = self.queue.is_empty();
        nobody && !self.wanted && self.yielding.is_none() && !self.pausing
    }

    /// Whether a client of this machine holds the token.
    pub(super) const fn is_held(&self) -> bool {
        self.queue.holder.is_some()
    }

    /// Whether a client holds the token or waits for it.
    pub(super) fn concerns(&self, client: ClientId) -> bool {
        self.queue.concerns(client)
    }

    /// Whether a client holds the token.
    pub(super) fn holds(&self, client: ClientId) -> bool {
        self.queue.holds(client)
    }

    /// The job that a client holds the token for.
    pub(super) fn job(&self, client: ClientId) -> Option<Job> {
        let holder = self.queue.holder.as_ref();
        holder
            .filter(|it| it.asked.client.id == client)
            .and_then(|it| it.asked.own)
    }

    /// The token that is held here.
    pub(super) fn held(&self) -> Option<Token> {
        self.queue.held().copied()
    }

    /// A client is gone. Whose lock this has ended, unless that was over already: the work may go on for as long as it
    /// was told.
    pub(super) fn leave_behind(
        &mut self,
        now: Instant,
        client: ClientId,
    ) -> Option<(Client, LockRequest)> {
        let left = self.queue.leave_behind(now, client)?;
        Some((left.client, left.request.clone()))
    }

    /// A client wants the token no more. Whether it had it or waited for it.
    pub(super) fn release(&mut self, client: ClientId) -> bool {
        self.queue.release(client)
    }

    /// The token is to go to another member as soon as its holder here has let go.
    pub(super) fn yield_to(&mut self, to: Option<MacAddr>) {
        self.yielding = Some(Yielding { to });
    }

    /// The node is to own nothing from now on, or may own again. Whether that is new.
    pub(super) fn pause(&mut self, paused: bool) -> bool {
        let (from, to) = if paused {
            (Availability::Open, Availability::Paused)
        } else {
            (Availability::Paused, Availability::Open)
        };
        self.draining = false;
        let is_new = self.availability == from;
        if is_new {
            self.availability = to;
            self.pausing = true;
        }
        is_new
    }

    /// The node is to own nothing as soon as its holder, which is not told to end, has let go. Whether
    /// that is new.
    pub(super) fn drain(&mut self) -> bool {
        let is_told_to_end = self.availability == Availability::Paused && !self.draining;
        let is_new = self.pause(true);
        self.draining = !is_told_to_end;
        is_new
    }

    /// Whether the node is to own nothing for now.
    pub(super) fn is_paused(&self) -> bool {
        self.availability == Availability::Paused
    }

    /// Whether the daemon shuts down.
    pub(super) fn is_leaving(&self) -> bool {
        self.availability == Availability::Leaving
    }

    /// The daemon shuts down: nobody is granted the token from now on.
    pub(super) fn leave(&mut self) {
        self.availability = Availability::Leaving;
    }

    /// When [`update`](Self::update) is to be called at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let queue = self.queue.deadline().into_iter();
        let confirmation = self.confirmation.iter().filter_map(Confirmation::deadline);
        let asking = self.asking.iter().filter_map(Asking::deadline);
        queue.chain(confirmation).chain(asking).min()
    }

    /// Who holds the token here, then who waits for it, in order.
    pub(super) fn clients(&self, now: Instant) -> impl Iterator<Item = ClientStatus> {
        let (holder, waiting) = (&self.queue.holder, &self.queue.waiting);
        let holder = holder
            .iter()
            .map(move |holder| client::holder_status(holder, now));
        holder.chain(waiting.iter().map(move |waiter| waiter.status(now)))
    }
}
