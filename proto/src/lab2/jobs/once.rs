//! The holder's side of a job that runs once in a period. It asks the members for the last run, stamps a new one, and
//! has them store the stamp before the run begins.

use ring_codec::MacAddr;
use ring_codec::lab2::{Purpose, RunOutcome, Token};

use super::{JobAction, JobContext, Jobs, StampsFrame};
use crate::lab2::confidence::promise_duration;
use crate::lab2::members::Members;
use crate::lab2::{Event, Grade, JobName, OnceProgress, OnceRequest, RunEnd, RunView, Stamp};
use crate::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum OncePhase {
    /// The members are asked for their stamps.
    Reading,
    /// The members are asked to store this stamp.
    Writing(Stamp),
    /// The run has begun.
    Begun(Stamp),
    Ran,
    Full,
    TooSmall,
}

/// The request of this node's application.
#[derive(Debug, Clone)]
pub(super) struct OnceJob {
    pub(super) request: OnceRequest,
    /// The token under which it runs.
    pub(super) token: Token,
    pub(super) phase: OncePhase,
    pub(super) since: Instant,
    /// Whether a question has left since the stamps last changed.
    pub(super) asked: bool,
    /// Serial number of the first question whose answers count.
    pub(super) first: u32,
    /// Members that agree and since when, sorted by MAC.
    pub(super) agreements: Vec<(MacAddr, Instant)>,
}

impl OnceJob {
    pub(super) fn on_token_renamed(&mut self, old: Token, minted: Token) {
        if self.token == old {
            self.token = minted;
        }
    }
}

impl Jobs {
    pub(super) fn begin(&mut self, job_context: &JobContext<'_>, request: OnceRequest) {
        self.end(job_context, None, RunEnd::NotRun);
        self.announce_if_due(job_context);
        let Some((token, _)) = job_context.usable else {
            return;
        };
        let phase = if job_context.stamps_per_frame() == 0 {
            OncePhase::TooSmall
        } else {
            OncePhase::Reading
        };
        self.once = Some(OnceJob {
            request,
            token,
            phase,
            since: job_context.now(),
            asked: false,
            first: self.serial.wrapping_add(1),
            agreements: Vec::new(),
        });
        if phase == OncePhase::Reading {
            self.ask_members(job_context);
        }
    }

    /// Ends the request, if it has this number or no number is given.
    pub(super) fn end(&mut self, job_context: &JobContext<'_>, id: Option<u64>, end: RunEnd) {
        let is_meant = |once: &mut OnceJob| id.is_none_or(|id| id == once.request.id);
        let Some(once) = self.once.take_if(is_meant) else {
            return;
        };
        self.push_action(JobAction::StopTimer);
        let stamp = match once.phase {
            OncePhase::Writing(stamp) => stamp,
            OncePhase::Begun(stamp) if end != RunEnd::Unknown => stamp,
            _ => return,
        };
        let outcome = match end {
            RunEnd::Done => RunOutcome::Done,
            RunEnd::Failed => RunOutcome::Failed,
            // The stamp was announced, but its run never began: the next caller may run the job.
            RunEnd::Unknown | RunEnd::NotRun => RunOutcome::Void,
        };
        if self.stamps.end(&stamp, outcome) {
            self.schedule_announcement(job_context);
        }
    }

    fn ask_members(&mut self, job_context: &JobContext<'_>) {
        self.broadcast_stamps(job_context, Purpose::Ask);
        let soon = job_context.now() + Members::speaking_delay_max(job_context.context);
        self.push_action(JobAction::WakeAt(soon));
    }

    /// Handles the timer: sends an announcement that is due, or asks again because too few members have answered.
    pub(super) fn on_due(&mut self, job_context: &JobContext<'_>) {
        self.review(job_context);
        self.announce_if_due(job_context);
        if self.is_asking() {
            self.ask_members(job_context);
        }
    }

    pub(super) fn on_agreement(
        &mut self,
        job_context: &JobContext<'_>,
        from: MacAddr,
        frame: StampsFrame,
    ) {
        let last = self.serial;
        let Some(once) = &mut self.once else {
            return;
        };
        let asked = last.wrapping_sub(once.first);
        // Serial numbers may wrap.
        let is_answer = last.wrapping_sub(frame.serial) <= asked && asked <= u32::MAX / 2;
        if frame.token == once.token && is_answer && job_context.members.has(from) {
            match once.agreements.binary_search_by_key(&from, |&(mac, _)| mac) {
                Ok(at) => once.agreements[at].1 = job_context.now(),
                Err(at) => once.agreements.insert(at, (from, job_context.now())),
            }
        }
    }

    /// Discards the agreements, because the stamps have changed.
    pub(super) fn on_stamps_changed(&mut self, job_context: &JobContext<'_>) {
        if let Some(once) = &mut self.once {
            once.agreements.clear();
            once.asked = false;
            // Earlier agreements were about other stamps.
            once.first = self.serial.wrapping_add(1);
        }
        if self.is_asking() {
            // Other members may be about to send more stamps.
            let soon = job_context.now() + job_context.context.constants().take_timeout;
            self.push_action(JobAction::WakeAt(soon));
        } else if job_context.is_owner {
            self.announcements.reset();
        }
    }

    pub(super) fn is_asking(&self) -> bool {
        let phase = self.once.as_ref().map(|once| once.phase);
        matches!(phase, Some(OncePhase::Reading | OncePhase::Writing(_)))
    }

    /// Advances the request as far as possible. It ends with the tenure, or with the loss of the required grade.
    pub(super) fn review(&mut self, job_context: &JobContext<'_>) {
        let Some(OnceJob { token, request, .. }) = self.once else {
            return;
        };
        let usable = job_context.usable.filter(|&(usable, _)| usable == token);
        let grade = usable.map(|(_, grade)| grade);
        // A run that has begun is ended by its lock, not here.
        if grade.is_none_or(|grade| self.is_asking() && grade < request.require) {
            return self.end(job_context, None, RunEnd::Unknown);
        }
        while self.is_asking() && self.has_enough_agreements(job_context) {
            self.enter_next_phase(job_context);
        }
    }

    fn enter_next_phase(&mut self, job_context: &JobContext<'_>) {
        let Some(OnceJob {
            token,
            request,
            phase,
            ..
        }) = self.once
        else {
            return;
        };
        let phase = match phase {
            OncePhase::Writing(stamp) => OncePhase::Begun(stamp),
            _ => self.stamp_run(job_context, &request, token),
        };
        if let Some(once) = &mut self.once {
            once.phase = phase;
            once.since = job_context.now();
        }
        self.push_action(JobAction::StopTimer);
        if let OncePhase::Writing(stamp) = phase {
            self.on_stamps_changed(job_context);
            self.push_action(JobAction::Report(Event::RunStamped { stamp }));
            if !self.may_reply(job_context) || self.stamps.len() > job_context.stamps_per_frame() {
                // It would be too many answers to the current frame.
                self.push_action(JobAction::WakeAt(job_context.now()));
            } else {
                self.ask_members(job_context);
            }
        }
    }

    /// Stamps a new run, unless the last one makes it needless. All stamps of the other members are known here.
    fn stamp_run(
        &mut self,
        job_context: &JobContext<'_>,
        request: &OnceRequest,
        token: Token,
    ) -> OncePhase {
        let now = job_context.now();
        let known = self.stamps.get(request.name);
        if known.is_some_and(|it| request.is_satisfied_by(&it.view(now))) {
            return OncePhase::Ran;
        }
        let (progress, run) = match known {
            // The new run must be the newest, even if a stronger token was lost.
            Some(it) if it.stamp.progress >= token.progress => {
                (it.stamp.progress, it.stamp.run.saturating_add(1))
            }
            None if !self.stamps.has_room(now) => return OncePhase::Full,
            _ => (token.progress, 0),
        };
        let stamp = Stamp {
            name: request.name,
            progress,
            run,
            runner: job_context.context.me(),
            outcome: RunOutcome::Begun,
            period: request.every,
        };
        if self.stamps.put(stamp, now) {
            OncePhase::Writing(stamp)
        } else {
            OncePhase::Full
        }
    }

    /// Whether enough members have stored exactly the stamps that are known here: a majority for a quorum, else all
    /// members. After the time for which a silent owner is trusted, members that were not heard meanwhile do not count.
    /// If no grade is required, no member is awaited after that time.
    fn has_enough_agreements(&self, job_context: &JobContext<'_>) -> bool {
        let Some(once) = self.once.as_ref().filter(|once| once.asked) else {
            return false;
        };
        let JobContext {
            context, members, ..
        } = job_context;
        let ring_size = members.ring_size(context);
        let duration = promise_duration(context, ring_size);
        let now = job_context.now();
        let lasts = duration / 32 * 31;
        let is_fresh = |at: Instant| now.since(at) < lasts;
        if once.request.require == Grade::Quorum {
            let agreements = once.agreements.iter().filter(|&&(_, at)| is_fresh(at));
            return 1 + agreements.count() > ring_size / 2;
        }
        let has_agreed = |mac: MacAddr| {
            let place = once.agreements.binary_search_by_key(&mac, |&(mac, _)| mac);
            place.is_ok_and(|at| is_fresh(once.agreements[at].1))
        };
        let lately = now.before(duration);
        let is_over = now.since(once.since) >= duration;
        members.others(context).all(|(mac, peer)| {
            // By then, every present member has answered a heartbeat.
            let is_silent = is_over && peer.last_seen().is_none_or(|seen| seen < lately);
            has_agreed(mac) || is_silent || is_over && once.request.require == Grade::Alone
        })
    }

    /// Returns the number and progress of the latest request; `None` if there is none, or its token is no longer held.
    pub(crate) fn standing(&self, now: Instant) -> Option<(u64, OnceProgress)> {
        let once = self.once.as_ref()?;
        let standing = match once.phase {
            OncePhase::Reading | OncePhase::Writing(_) => OnceProgress::Asking,
            OncePhase::Begun(_) => OnceProgress::Begun,
            OncePhase::Ran => OnceProgress::Ran(self.last_run(once.request.name, now)?),
            OncePhase::Full => OnceProgress::Full,
            OncePhase::TooSmall => OnceProgress::TooSmall,
        };
        Some((once.request.id, standing))
    }

    /// Whether this node has begun this run.
    pub(crate) fn has_begun(&self, stamp: &Stamp) -> bool {
        let phase = self.once.as_ref().map(|once| once.phase);
        phase == Some(OncePhase::Begun(*stamp))
    }

    /// Returns the known run that makes this request needless now.
    pub(crate) fn met_by(&self, request: &OnceRequest, now: Instant) -> Option<RunView> {
        let run = self.last_run(request.name, now)?;
        // A run that is about to begin may still be cancelled, and a request's own run does not count against it.
        let is_unsure = self.once.as_ref().is_some_and(|once| match once.phase {
            OncePhase::Writing(_) => once.request.name == request.name,
            OncePhase::Begun(_) => once.request.id == request.id,
            _ => false,
        });
        (!is_unsure && request.is_satisfied_by(&run)).then_some(run)
    }

    fn last_run(&self, name: JobName, now: Instant) -> Option<RunView> {
        self.stamps.get(name).map(|entry| entry.view(now))
    }
}
