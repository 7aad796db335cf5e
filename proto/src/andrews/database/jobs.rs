//! The database, as this node sees it (`docs/board.md`, sections 4 and 7): one job at a time, one more for posts, and
//! those whose outcome is unknown.

use std::collections::VecDeque;
use std::time::Duration;

use crate::andrews::{DatabaseState, Job, Work};
use crate::throttle::Throttle;
use crate::time::Instant;

/// The least time between the starts of two looks.
const LEAST_GAP: Duration = Duration::from_millis(20);
/// The most unanswered jobs that are remembered. As long as there are so many, no further is tried.
const MOST_OVERDUE: usize = 4;

/// A job that was started.
#[derive(Debug)]
pub(crate) struct InHand {
    pub(crate) id: u64,
    pub(crate) begun: Instant,
    pub(crate) work: Work,
}

/// What is tried to reach the database.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Try {
    /// What comes before the first look.
    Prepare,
    /// A write, after one that has failed: reading alone says nothing of it.
    Write,
    Look,
}

/// Whether an answer came in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    InTime,
    Late,
}

// Five questions that have nothing to do with each other.
#[expect(clippy::struct_excessive_bools)]
#[derive(Debug, Default)]
pub(crate) struct Database {
    state: DatabaseState,
    /// Since when it answers.
    up_since: Instant,
    /// A write has failed, and none was done since.
    has_failed_to_write: bool,
    /// Nothing is written on rows that were read before the database failed, or before a write was refused.
    is_stale: bool,
    /// What comes before the first look is done.
    is_prepared: bool,
    wants_look: bool,
    looks: Throttle,
    /// While it does not answer: it is tried again.
    is_to_try: bool,
    next_poll: Instant,
    last_id: u64,
    hand: Option<InHand>,
    visit: Option<InHand>,
    overdue: VecDeque<InHand>,
    out: VecDeque<Job>,
}

impl Database {
    /// The node begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.is_stale = true;
        self.wants_look = true;
        self.next_poll = now;
    }

    pub(crate) const fn state(&self) -> DatabaseState {
        self.state
    }

    pub(crate) const fn up_since(&self) -> Instant {
        self.up_since
    }

    /// What comes before the first look is done.
    pub(crate) const fn on_prepared(&mut self) {
        self.is_prepared = true;
        self.wants_look = true;
    }

    pub(crate) const fn want_look(&mut self) {
        self.wants_look = true;
    }

    /// What is known is not true any longer: nothing is written before the next look.
    pub(crate) const fn distrust(&mut self) {
        self.is_stale = true;
        self.wants_look = true;
    }

    /// Whether something may be decided on the rows and written.
    pub(crate) fn is_fresh(&self) -> bool {
        self.state == DatabaseState::Up && !self.is_stale
    }

    /// Whether a topology job can be started now.
    pub(crate) const fn is_free(&self) -> bool {
        self.hand.is_none()
    }

    /// Whether a visit of the token can use it now.
    pub(crate) fn can_serve(&self) -> bool {
        self.is_fresh() && self.visit.is_none()
    }

    /// The job of the visit in hand, and how many requests it serves.
    pub(crate) fn visit(&self) -> Option<(u64, usize)> {
        let job = self.visit.as_ref()?;
        match &job.work {
            Work::Serve { requests, .. } => Some((job.id, requests.len())),
            _ => None,
        }
    }

    /// A look has been taken: the rows are new.
    pub(crate) const fn looked(&mut self) {
        self.is_stale = false;
    }

    /// How it is tried to reach the database now.
    pub(crate) fn next_try(&mut self, now: Instant) -> Option<Try> {
        if self.hand.is_some() || self.overdue.len() >= MOST_OVERDUE {
            return None;
        }
        if self.state != DatabaseState::Up && !self.is_to_try {
            return None;
        }
        if !self.is_prepared {
            self.is_to_try = false;
            return Some(Try::Prepare);
        }
        if self.has_failed_to_write {
            return std::mem::take(&mut self.is_to_try).then_some(Try::Write);
        }
        if !self.wants_look || !self.looks.allow(now, LEAST_GAP) {
            return None;
        }
        self.is_to_try = false;
        self.wants_look = false;
        Some(Try::Look)
    }

    pub(crate) fn start(&mut self, now: Instant, work: Work) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.out.push_back(Job {
            id,
            work: work.clone(),
        });
        let lane = match work {
            Work::Serve { .. } => &mut self.visit,
            _ => &mut self.hand,
        };
        *lane = Some(InHand {
            id,
            begun: now,
            work,
        });
        id
    }

    pub(crate) fn next_job(&mut self) -> Option<Job> {
        self.out.pop_front()
    }

    /// The job that an answer is for, if it is waited for.
    pub(crate) fn answered(&mut self, id: u64) -> Option<(InHand, Answered)> {
        for lane in [&mut self.hand, &mut self.visit] {
            if let Some(job) = lane.take_if(|job| job.id == id) {
                return Some((job, Answered::InTime));
            }
        }
        let place = self.overdue.iter().position(|job| job.id == id)?;
        let job = self.overdue.remove(place)?;
        Some((job, Answered::Late))
    }

    /// A job was done.
    pub(crate) const fn has_done(&mut self, work: &Work, now: Instant) {
        self.has_failed_to_write &= !is_written(work);
        if !self.has_failed_to_write {
            self.answers(now);
        }
    }

    /// A job has failed.
    pub(crate) const fn has_failed(&mut self, work: &Work) {
        self.has_failed_to_write |= is_written(work);
        self.state = DatabaseState::Gone;
        // Nothing is decided on rows from before.
        self.distrust();
    }

    /// A guard has hit no row. That it could have been written does not follow.
    pub(crate) const fn has_refused(&mut self, now: Instant) {
        if !self.has_failed_to_write {
            self.answers(now);
        }
    }

    const fn answers(&mut self, now: Instant) {
        if !matches!(self.state, DatabaseState::Up) {
            self.state = DatabaseState::Up;
            self.up_since = now;
            self.distrust();
        }
    }

    /// Gives up waiting for jobs. Returns the id of a visit among them, and its requests.
    pub(crate) fn time_out(&mut self, now: Instant, timeout: Duration) -> Option<InHand> {
        let is_due = |job: &mut InHand| job.begun + timeout <= now;
        let hand = self.hand.take_if(is_due);
        let visit = self.visit.take_if(is_due);
        let given_up = visit.as_ref().map(|job| InHand {
            id: job.id,
            begun: job.begun,
            work: job.work.clone(),
        });
        for job in hand.into_iter().chain(visit) {
            if self.overdue.len() >= MOST_OVERDUE {
                self.overdue.pop_front();
            }
            self.has_failed_to_write |= is_written(&job.work);
            self.overdue.push_back(job);
            if self.state == DatabaseState::Up {
                self.state = DatabaseState::Slow;
            }
            self.distrust();
        }
        given_up
    }

    /// Whether the period of polls is over; it begins anew.
    pub(crate) fn poll(&mut self, now: Instant, period: Duration) -> bool {
        if self.next_poll > now {
            return false;
        }
        self.next_poll = now + period;
        self.wants_look = true;
        self.is_to_try = true;
        true
    }

    /// When something is due.
    pub(crate) fn due(&self, timeout: Duration) -> Option<Instant> {
        let lanes = [&self.hand, &self.visit];
        let jobs = lanes.into_iter().flatten().map(|job| job.begun + timeout);
        let can_look = self.hand.is_none()
            && self.is_prepared
            && !self.has_failed_to_write
            && self.wants_look
            && self.overdue.len() < MOST_OVERDUE
            && (self.state == DatabaseState::Up || self.is_to_try);
        let last = self.looks.last().filter(|_| can_look);
        let look = last.map(|last| last + LEAST_GAP);
        jobs.chain(look).chain([self.next_poll]).min()
    }
}

/// Whether a job writes.
const fn is_written(work: &Work) -> bool {
    !matches!(work, Work::Look)
}

#[cfg(test)]
impl Database {
    pub(crate) const fn slow_down(&mut self) {
        self.state = DatabaseState::Slow;
    }
}
