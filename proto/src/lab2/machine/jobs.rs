//! Connects the other parts of the state machine with the [`Jobs`](crate::lab2::jobs::Jobs) that run once in a period.

use std::time::Duration;

use ring_codec::lab2::RunOutcome;

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::confidence::promise_duration;
use crate::lab2::jobs::{JobAction, JobContext, JobInput};
use crate::lab2::{Lab2, OnceProgress, OnceRequest, RunView, Stamp, State};

impl Lab2 {
    /// Passes an input to the jobs, and executes their actions.
    pub(super) fn handle_job_input(&mut self, input: JobInput<'_>) {
        let may_send_heartbeat_early = self.context.is_up() && !self.has_left();
        // An offered token may already have a new owner, so no job may run under it.
        let usable = self
            .role
            .unoffered_tenure()
            .filter(|_| self.may_use_token());
        let usable = usable.map(|tenure| (tenure.token(), self.grade()));
        let job_context = JobContext {
            context: &self.context,
            members: &self.members,
            known: self.token().filter(|_| may_send_heartbeat_early),
            usable,
            is_owner: self.state() == State::Owner,
            is_stored: self.is_stored(),
            replies_left: self.out.replies_left(),
        };
        self.jobs.handle(&job_context, input);
        while let Some(action) = self.jobs.poll() {
            match action {
                JobAction::Send(to, frame) => self.send(to, Content::Stamps(frame)),
                JobAction::WakeAt(at) if !self.has_left() => self.out.set(Timer::Stamps, at),
                JobAction::WakeAt(_) | JobAction::StopTimer => self.out.stop(Timer::Stamps),
                JobAction::Report(event) => self.event(event),
            }
        }
    }

    /// Informs the jobs that the tenure, or its grade, may have changed.
    #[inline]
    pub(super) fn review_jobs(&mut self) {
        // Every hop comes here, and almost no node has an open request.
        if !self.jobs.is_idle() {
            self.handle_job_input(JobInput::TenureChanged);
        }
    }

    /// Broadcasts the stamps from time to time, after a heartbeat.
    pub(super) fn announce_stamps(&mut self) {
        if self.jobs.follows_heartbeats() {
            self.handle_job_input(JobInput::HeartbeatSent);
        }
    }

    /// Returns the maximum delay of a job, if each member of the ring either answers or is gone.
    pub fn job_delay_max(&self) -> Duration {
        let ring = self.members.ring_size(&self.context);
        // Reading takes at most the duration of a promise. Writing takes at most the same time. A third such time is
        // for lost frames and for stamps that change meanwhile.
        promise_duration(&self.context, ring).saturating_mul(3)
    }

    /// Returns the number and the progress of the latest request for a job. Returns `None` if there is no request, or
    /// if this node no longer holds the request's token.
    pub fn once_progress(&self) -> Option<(u64, OnceProgress)> {
        self.jobs.standing(self.context.now())
    }

    /// Whether the tenure of this run is over, and no result of the run arrived. The report may still be on its way.
    pub fn is_run_over(&self, stamp: &Stamp) -> bool {
        let Some(token) = self.token().filter(|it| it.progress > stamp.progress) else {
            return false;
        };
        // If an owner has outbid another owner, it continues the run under the token that it has minted.
        let goes_on = if self.is_own(stamp.runner) {
            self.jobs.has_begun(stamp)
        } else {
            token.author == stamp.runner && self.owner() == Some(stamp.runner)
        };
        stamp.outcome == RunOutcome::Begun && !goes_on
    }

    /// Returns the known run that satisfies this request. Then no new run is necessary.
    pub fn find_sufficient_run(&self, request: &OnceRequest) -> Option<RunView> {
        self.jobs.met_by(request, self.context.now())
    }

    /// Returns the last known run of each job.
    pub fn runs(&self) -> impl Iterator<Item = RunView> {
        self.jobs.runs(self.context.now())
    }
}
