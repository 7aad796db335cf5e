//! The queue of this machine's clients for the token, and the one that holds it: no sockets, no clock.
//!
//! The machine serves one application; the queue makes one of many clients. Everything goes through
//! [`Locks::update`]: it gets the machine's state, notifies each client of its outcome, and returns what the
//! machine has to do.

mod asking;
mod client;
mod confirmation;
mod machine_state;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_proto::lab2::{Command, OnceRequest, OnceStanding, Reason, RunEnd, RunView, State};
use ring_proto::time::Instant;

use crate::control::lab2::{ClientStatus, Grade, LockRequest, LossReason, RefusalReason};
use crate::host::{Client, ClientId};
use asking::Asking;
pub use client::Job;
use client::{Holder, Waiter};
use confirmation::Confirmation;
pub use machine_state::MachineState;

/// The most clients that wait at a time.
pub const MAX_WAITING: usize = 400;
/// How long a holder has to end its work when somebody else decides that it ends.
const NOTICE: Duration = Duration::from_secs(1);

/// The token is to go to another member.
#[derive(Debug, Clone, Copy)]
struct Yielding {
    /// To this one, or the next.
    to: Option<MacAddr>,
}

/// Whether anybody is granted the token here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Standing {
    #[default]
    Open,
    /// Not for now.
    Paused,
    /// The daemon shuts down.
    Leaving,
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
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
    Ran(RunView),
    /// It has the token no more.
    Lost {
        /// Why.
        why: LossReason,
        /// When its work must have ended.
        until: Instant,
    },
}

/// The local holder and the local queue.
#[derive(Debug, Default)]
pub struct Locks {
    holder: Option<Holder>,
    waiting: VecDeque<Waiter>,
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
    standing: Standing,
    /// In a pause the holder ends its work in its own time.
    draining: bool,
    /// The machine is to be told of a pause, or its end.
    pausing: bool,
    /// The client that was granted the token for a job last.
    last_job: Option<ClientId>,
}

impl Locks {
    /// A client wants the token, whose way here takes so long at most if nobody works with it. It is
    /// told of the outcome by [`update`](Self::update), unless it is refused at once.
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
        if self.standing == Standing::Leaving {
            return Err(RefusalReason::Leaving);
        }
        let at_once = request.wait_ms == Some(0);
        if at_once && self.standing == Standing::Paused {
            return Err(RefusalReason::Paused);
        }
        if at_once && (self.holder.is_some() || !self.waiting.is_empty()) {
            return Err(RefusalReason::Busy);
        }
        if self.waiting.len() >= MAX_WAITING {
            return Err(RefusalReason::Crowded);
        }
        self.waiting
            .push_back(Waiter::new(now, client, request, way));
        Ok(())
    }

    /// The same, perhaps for a job: then it is granted the token if the job has not run in its period, once
    /// the members know of the run.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub fn request_for(
        &mut self,
        now: Instant,
        client: Client,
        request: LockRequest,
        job: Option<Job>,
        way: Duration,
    ) -> Result<(), RefusalReason> {
        self.request(now, client, request, way)?;
        if let Some(waiter) = self.waiting.back_mut() {
            waiter.job = job;
        }
        Ok(())
    }

    /// Whether [`update`](Self::update) would do nothing.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let nobody = self.holder.is_none() && self.waiting.is_empty();
        nobody && !self.wanted && self.yielding.is_none() && !self.pausing
    }

    /// Whether a client of this machine holds the token.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.holder.is_some()
    }

    /// Whether a client holds the token or waits for it.
    #[must_use]
    pub fn concerns(&self, client: ClientId) -> bool {
        self.holds(client) || self.waiting.iter().any(|waiter| waiter.client == client)
    }

    /// Whether a client holds the token.
    #[must_use]
    pub fn holds(&self, client: ClientId) -> bool {
        self.holder
            .as_ref()
            .is_some_and(|holder| holder.asked.client == client)
    }

    /// The job that a client holds the token for.
    #[must_use]
    pub fn job(&self, client: ClientId) -> Option<Job> {
        let holder = self.holder.as_ref();
        holder
            .filter(|it| it.asked.client == client)
            .and_then(|it| it.asked.job)
    }

    /// The token that is held here.
    #[must_use]
    pub fn held(&self) -> Option<Token> {
        let holder = self.holder.as_ref().filter(|it| it.ends_by.is_none());
        holder.map(|holder| holder.token)
    }

    /// A client is gone. If it had the token and did not say that its work has ended, that may go on
    /// for as long as it was told: the kernel, or who looks after it, is just ending it. Whose lock this
    /// has ended, unless that was over already.
    pub fn leave_behind(
        &mut self,
        now: Instant,
        client: ClientId,
    ) -> Option<(Client, LockRequest)> {
        match &mut self.holder {
            Some(holder) if holder.asked.client == client => {
                if holder.ends_by.is_some() {
                    return None;
                }
                holder.ends_by = Some(now);
                Some((holder.asked.who(), holder.asked.request.clone()))
            }
            _ => {
                self.release(client);
                None
            }
        }
    }

    /// A client wants the token no more. Whether it had it or waited for it.
    pub fn release(&mut self, client: ClientId) -> bool {
        if self.holds(client) {
            self.holder = None;
            return true;
        }
        let before = self.waiting.len();
        self.waiting.retain(|waiter| waiter.client != client);
        self.waiting.len() < before
    }

    /// The token is to go to another member as soon as its holder here has let go.
    pub fn yield_to(&mut self, to: Option<MacAddr>) {
        self.yielding = Some(Yielding { to });
    }

    /// The node is to own nothing from now on, or may own again. Whether that is new.
    pub fn pause(&mut self, paused: bool) -> bool {
        let (from, to) = if paused {
            (Standing::Open, Standing::Paused)
        } else {
            (Standing::Paused, Standing::Open)
        };
        self.draining = false;
        let is_new = self.standing == from;
        if is_new {
            self.standing = to;
            self.pausing = true;
        }
        is_new
    }

    /// The node is to own nothing as soon as its holder, which is not told to end, has let go. Whether
    /// that is new.
    pub fn drain(&mut self) -> bool {
        let is_told_to_end = self.standing == Standing::Paused && !self.draining;
        let is_new = self.pause(true);
        self.draining = !is_told_to_end;
        is_new
    }

    /// Whether the node is to own nothing for now.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.standing == Standing::Paused
    }

    /// Whether the daemon shuts down.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.standing == Standing::Leaving
    }

    /// The daemon shuts down: nobody is granted the token from now on.
    pub fn leave(&mut self) {
        self.standing = Standing::Leaving;
    }

    /// When [`update`](Self::update) is to be called at the latest.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let holder = self.holder.iter().filter_map(Holder::deadline);
        let waiting = self.waiting.iter().filter_map(|waiter| waiter.until);
        let confirmation = self.confirmation.iter().filter_map(Confirmation::deadline);
        let asking = self.asking.iter().filter_map(Asking::deadline);
        holder
            .chain(waiting)
            .chain(confirmation)
            .chain(asking)
            .min()
    }

    /// Tells the clients what has become of what they asked for, and returns what the machine is to do. To be
    /// called again, with what the machine knows then, until it returns nothing.
    pub fn update(
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
        if let Some(holder) = &self.holder {
            let is_over = machine.token != Some(holder.token);
            return if is_over && self.waiting.is_empty() {
                self.want_no_more()
            } else {
                self.want()
            };
        }
        if std::mem::take(&mut self.pausing) {
            return Some(Command::Pause(self.standing == Standing::Paused));
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
        if self.waiting.is_empty() {
            self.served = None;
        }
        if self.waiting.is_empty() || self.standing == Standing::Paused {
            self.confirmation = None;
            return self.want_no_more();
        }
        let Some(token) = machine.token else {
            return self.want();
        };
        if self.served == Some(token) && machine.others_may_want() {
            // One grant for each turn of this node, as the others have one in theirs.
            return self.want_no_more();
        }
        let safe = |waiter: &Waiter| machine.worth_granting_until(now, waiter.require);
        let Some((at, until)) = self
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
        let Some(waiter) = self.waiting.remove(at) else {
            return;
        };
        self.served = Some(token);
        let granted = Notice::Granted { token, until };
        tell(waiter.client, &waiter.request, granted);
        self.holder = Some(Holder::new(now, waiter, token, until));
    }

    /// Tells those who wait to run a job that has run elsewhere.
    pub fn dismiss(
        &mut self,
        met_by: impl Fn(&OnceRequest) -> Option<RunView>,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        self.waiting.retain(|waiter| {
            let Some(run) = waiter.once().and_then(|once| met_by(&once)) else {
                return true;
            };
            tell(waiter.client, &waiter.request, Notice::Ran(run));
            false
        });
    }

    /// The machine is at work for a client that is gone, or waits no longer.
    fn end_deserted_job(&self, machine: &MachineState) -> Option<Command> {
        let (id, standing) = machine.once?;
        let end = match standing {
            OnceStanding::Begun if self.last_job == Some(id) => RunEnd::Unknown,
            _ => RunEnd::NotRun,
        };
        (!self.concerns(id)).then_some(Command::EndOnce(id, end))
    }

    /// What there is to do before the client at this place is granted the token, if it is for a job:
    /// the members must know of the run. It breaks off with what to tell the machine, if anything.
    fn prepare_job(
        &mut self,
        at: usize,
        now: Instant,
        machine: &MachineState,
        token: Token,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) -> ControlFlow<Option<Command>> {
        let Some(waiter) = self.waiting.get(at) else {
            return ControlFlow::Continue(());
        };
        let (client, once) = (waiter.client, waiter.once());
        let other = machine.once.filter(|&(id, _)| id != client);
        if let Some((id, _)) = other {
            return ControlFlow::Break(Some(Command::EndOnce(id, RunEnd::NotRun)));
        }
        let Some(once) = once else {
            return ControlFlow::Continue(());
        };
        let notice = match machine.once {
            None => return ControlFlow::Break(self.want().or(Some(Command::Once(once)))),
            Some((_, OnceStanding::Asking)) => {
                return ControlFlow::Break(self.go_on_asking(at, now, machine, token));
            }
            Some((_, OnceStanding::Begun)) => {
                self.last_job = Some(client);
                return ControlFlow::Continue(());
            }
            Some((_, OnceStanding::Ran(run))) => Notice::Ran(run),
            Some((_, OnceStanding::Full)) => Notice::Refused(RefusalReason::Names),
            Some((_, OnceStanding::TooSmall)) => Notice::Refused(RefusalReason::Mtu),
        };
        if let Some(waiter) = self.waiting.remove(at) {
            tell(client, &waiter.request, notice);
        }
        ControlFlow::Break(Some(Command::EndOnce(client, RunEnd::NotRun)))
    }

    /// Who holds the token here, then who waits for it, in order.
    pub fn clients(&self, now: Instant) -> impl Iterator<Item = ClientStatus> {
        let holder = self.holder.iter().map(move |holder| holder.status(now));
        holder.chain(self.waiting.iter().map(move |waiter| waiter.status(now)))
    }

    fn want(&mut self) -> Option<Command> {
        (!std::mem::replace(&mut self.wanted, true)).then_some(Command::WantToken)
    }

    fn want_no_more(&mut self) -> Option<Command> {
        std::mem::take(&mut self.wanted).then_some(Command::WorkDone)
    }

    fn look_after_holder(
        &mut self,
        now: Instant,
        machine: &MachineState,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        let (standing, yielding) = (self.standing, self.yielding.is_some());
        let ends_for_pause = standing == Standing::Paused && !self.draining;
        let Some(holder) = &mut self.holder else {
            return;
        };
        let client = holder.asked.client;
        if machine.token != Some(holder.token) && holder.ends_by.is_none() {
            let why = Self::loss(machine);
            let until = match why {
                // Its new holder has it already, unless that must have a quorum as this one had.
                LossReason::StrongerToken if holder.asked.require < Grade::Quorum => now,
                _ => holder.until,
            };
            holder.ends_by = Some(until);
            tell(client, &holder.asked.request, Notice::Lost { why, until });
        }
        if holder.ends_by.is_some() {
            if holder.gone_at() <= Some(now) {
                self.holder = None;
            }
            return;
        }
        let safe_until = machine.safe_until(holder.asked.require);
        let ending = if standing == Standing::Leaving {
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
        let (standing, is_held) = (self.standing, self.holder.is_some());
        // Also in the time in which a new tenure may not grant yet: what it lacks is what kept the ones before from it.
        let is_here = machine.token.is_some() || machine.state == State::Owner;
        let is_safe = |waiter: &Waiter| {
            let until = if is_held {
                machine.safe_until(waiter.require)
            } else {
                machine.worth_granting_until(now, waiter.require)
            };
            until.is_some()
        };
        self.waiting.retain(|waiter| {
            let why = if standing == Standing::Leaving {
                RefusalReason::Leaving
            } else if waiter.until.is_none_or(|until| until > now) {
                return true;
            } else if standing == Standing::Paused {
                RefusalReason::Paused
            } else if is_here && !is_safe(waiter) {
                RefusalReason::Grade
            } else {
                RefusalReason::Timeout
            };
            tell(waiter.client, &waiter.request, Notice::Refused(why));
            false
        });
    }
}
