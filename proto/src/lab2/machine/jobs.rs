//! The machine around the jobs that run once in a period.

use std::time::Duration;

use ring_codec::lab2::RunOutcome;

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::confidence::promise_lasts;
use crate::lab2::jobs::{Input, Situation, Want};
use crate::lab2::{Lab2, OnceRequest, OnceStanding, RunView, Stamp, State};

impl Lab2 {
    /// Tells the jobs what has happened, and does what they want.
    pub(super) fn tell_jobs(&mut self, input: Input<'_>) {
        let may_speak = self.context.is_up() && !self.has_left();
        let usable = self.role.unoffered().filter(|_| self.may_use_token());
        let usable = usable.map(|tenure| (tenure.token(), self.grade()));
        let situation = Situation {
            context: &self.context,
            members: &self.members,
            known: self.token().filter(|_| may_speak),
            usable,
            is_owner: self.state() == State::Owner,
            is_stored: self.is_stored(),
            replies_left: self.out.replies_left(),
        };
        self.jobs.handle(&situation, input);
        while let Some(want) = self.jobs.poll() {
            match want {
                Want::Send(to, telling) => self.send(to, Content::Stamps(telling)),
                Want::Wake(at) => self.out.set(Timer::Stamps, at),
                Want::Rest => self.out.stop(Timer::Stamps),
                Want::Tell(event) => self.event(event),
            }
        }
    }

    /// Tells the jobs that the tenure or its grade has perhaps changed.
    #[inline]
    pub(super) fn review_jobs(&mut self) {
        if !self.jobs.is_idle() {
            self.tell_jobs(Input::Changed);
        }
    }

    /// A heartbeat has left: from time to time the stamps follow.
    pub(super) fn tell_stamps_in_time(&mut self) {
        if self.jobs.follows_heartbeats() {
            self.tell_jobs(Input::HeartbeatSent);
        }
    }

    /// How long members that answer, and those that are gone, let a job wait at the most: for reading and for
    /// writing as long as a promise lasts, and as long once more for what is lost or changes meanwhile.
    pub fn asking_lasts(&self) -> Duration {
        let ring = self.members.roster(&self.context);
        promise_lasts(&self.context, ring).saturating_mul(3)
    }

    /// How far the job has come that was asked for last, by its number; `None`: there is none, or the
    /// token under which it was asked for is no longer held.
    pub fn once(&self) -> Option<(u64, OnceStanding)> {
        self.jobs.standing(self.context.now())
    }

    /// Whether the tenure is over under which a run began, though nobody has said how it has ended. That may be on its
    /// way.
    pub fn is_over(&self, stamp: &Stamp) -> bool {
        let Some(token) = self.token().filter(|it| it.progress > stamp.progress) else {
            return false;
        };
        // An owner that has outbid another one goes on with the run, under a token that it has minted.
        let goes_on = if self.is_own(stamp.runner) {
            self.jobs.has_begun(stamp)
        } else {
            token.author == stamp.runner && self.owner() == Some(stamp.runner)
        };
        stamp.outcome == RunOutcome::Begun && !goes_on
    }

    /// The run that makes another one of this job needless now, as far as is known here.
    pub fn met_by(&self, request: &OnceRequest) -> Option<RunView> {
        self.jobs.met_by(request, self.context.now())
    }

    /// The last run of each job that is known here.
    pub fn runs(&self) -> impl Iterator<Item = RunView> {
        self.jobs.runs(self.context.now())
    }
}
