//! The database jobs of this node (`docs/board/protocol/members.md`, rules L; `database.md`, rules D). At most one job
//! for the topology runs at a time, and at most one job for posts. The node also remembers jobs that it gave up before
//! their outcome arrived.

use std::collections::VecDeque;
use std::time::Duration;

use crate::andrews::{DatabaseState, Job, Work};
use crate::throttle::Throttle;
use crate::time::Instant;

// Each datagram may ask for a look. A flood of datagrams must not become a flood of transactions.
const LOOK_GAP_MIN: Duration = Duration::from_millis(20);
/// While this number of jobs is unanswered, the node starts no further attempt. So the jobs do not pile up at a
/// database that hangs.
const OVERDUE_JOBS_MAX: usize = 4;

/// A job that was started and has no outcome.
#[derive(Debug)]
pub(crate) struct RunningJob {
    pub(crate) id: u64,
    pub(crate) begun: Instant,
    pub(crate) work: Work,
}

/// The next job that finds out whether the database can be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DatabaseAttempt {
    /// Prepares the tables before the first look.
    Prepare,
    /// Tests the database with a write, because an earlier write failed. A look would not be a sufficient test, because
    /// a look succeeds even on a standby or with a full disk.
    Write,
    Look,
}

/// Whether the outcome of a job arrived before the node gave the job up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Timeliness {
    InTime,
    Late,
}

// The bool fields do not depend on each other.
#[expect(clippy::struct_excessive_bools)]
#[derive(Debug, Default)]
pub(crate) struct Database {
    /// The state of the database, according to the outcomes of jobs.
    state: DatabaseState,
    /// The time at which the database last began to answer.
    up_since: Instant,
    /// Whether a write has failed and no write has succeeded since then.
    has_failed_to_write: bool,
    /// Whether the rows are too old for decisions, because the node read them before the database failed or refused a
    /// write.
    is_stale: bool,
    is_prepared: bool,
    wants_look: bool,
    looks: Throttle,
    /// Whether a further attempt is due while the database does not answer.
    is_attempt_due: bool,
    next_poll: Instant,
    last_id: u64,
    topology_job: Option<RunningJob>,
    posts_job: Option<RunningJob>,
    overdue_jobs: VecDeque<RunningJob>,
    jobs_to_start: VecDeque<Job>,
}

impl Database {
    pub(crate) fn begin(&mut self, now: Instant) {
        // No rows were read yet, so the node must not decide.
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

    pub(crate) const fn on_prepared(&mut self) {
        self.is_prepared = true;
        self.wants_look = true;
    }

    pub(crate) const fn want_look(&mut self) {
        self.wants_look = true;
    }

    /// Forbids all writes until the next look.
    pub(crate) const fn mark_stale(&mut self) {
        self.is_stale = true;
        // Only a look makes the rows fresh again.
        self.wants_look = true;
    }

    /// Whether the rows are recent enough for decisions, so that the node may also write.
    pub(crate) fn is_fresh(&self) -> bool {
        self.state == DatabaseState::Up && !self.is_stale
    }

    /// Whether a topology job can start.
    pub(crate) const fn is_free(&self) -> bool {
        self.topology_job.is_none()
    }

    /// Whether a visit of the token can start a job.
    pub(crate) fn can_serve(&self) -> bool {
        self.is_fresh() && self.posts_job.is_none()
    }

    /// Returns the id of the job for posts, and the number of requests in this job.
    pub(crate) fn posts_job(&self) -> Option<(u64, usize)> {
        let job = self.posts_job.as_ref()?;
        match &job.work {
            Work::Serve { requests, .. } => Some((job.id, requests.len())),
            _ => None,
        }
    }

    /// After a look, trusts the rows again.
    pub(crate) const fn on_look_taken(&mut self) {
        self.is_stale = false;
    }

    /// If a job may start now, returns the next job that tests whether the database can be used.
    pub(crate) fn next_attempt(&mut self, now: Instant) -> Option<DatabaseAttempt> {
        if self.topology_job.is_some() || self.overdue_jobs.len() >= OVERDUE_JOBS_MAX {
            return None;
        }
        // A database that does not answer gets one attempt per poll. More attempts would only load a server that
        // recovers.
        if self.state != DatabaseState::Up && !self.is_attempt_due {
            return None;
        }
        // A look reads the tables, so they must exist.
        if !self.is_prepared {
            self.is_attempt_due = false;
            return Some(DatabaseAttempt::Prepare);
        }
        if self.has_failed_to_write {
            return std::mem::take(&mut self.is_attempt_due).then_some(DatabaseAttempt::Write);
        }
        if !self.wants_look || !self.looks.try_take(now, LOOK_GAP_MIN) {
            return None;
        }
        self.is_attempt_due = false;
        self.wants_look = false;
        Some(DatabaseAttempt::Look)
    }

    pub(crate) fn start(&mut self, now: Instant, work: Work) -> u64 {
        // Ids never repeat, so a late outcome is not mistaken for the outcome of a newer job.
        self.last_id += 1;
        let id = self.last_id;
        self.jobs_to_start.push_back(Job {
            id,
            // The node keeps a copy, because an outcome names only the id of its job.
            work: work.clone(),
        });
        // Posts have a separate job, so that a slow post does not delay a repair of the ring.
        let lane = match work {
            Work::Serve { .. } => &mut self.posts_job,
            _ => &mut self.topology_job,
        };
        *lane = Some(RunningJob {
            id,
            begun: now,
            work,
        });
        id
    }

    pub(crate) fn next_job(&mut self) -> Option<Job> {
        self.jobs_to_start.pop_front()
    }

    /// Removes and returns the job with this id, if the node still knows the job.
    pub(crate) fn take_job(&mut self, id: u64) -> Option<(RunningJob, Timeliness)> {
        for lane in [&mut self.topology_job, &mut self.posts_job] {
            if let Some(job) = lane.take_if(|job| job.id == id) {
                return Some((job, Timeliness::InTime));
            }
        }
        // A late outcome still shows which changes were committed, for example a new token.
        let place = self.overdue_jobs.iter().position(|job| job.id == id)?;
        let job = self.overdue_jobs.remove(place)?;
        Some((job, Timeliness::Late))
    }

    /// Notes that a look was answered. The gap before the next look begins here, because the node can write only while
    /// no look runs.
    pub(crate) fn note_look_answered(&mut self, now: Instant) {
        self.looks.record(now);
    }

    /// Notes that a transaction succeeded.
    pub(crate) const fn on_done(&mut self, work: &Work, now: Instant) {
        // After a failed write only a successful write proves anything: a look succeeds on a standby as well.
        self.has_failed_to_write &= !is_written(work);
        if !self.has_failed_to_write {
            self.mark_up(now);
        }
    }

    /// Notes that a transaction has failed or may have failed.
    pub(crate) const fn on_failed(&mut self, work: &Work) {
        self.has_failed_to_write |= is_written(work);
        self.state = DatabaseState::Gone;
        // The rows from before the failure may be old.
        self.mark_stale();
    }

    /// Notes that a guard matched no row. So the database answers, but it may still refuse writes.
    pub(crate) const fn on_refused(&mut self, now: Instant) {
        if !self.has_failed_to_write {
            self.mark_up(now);
        }
    }

    const fn mark_up(&mut self, now: Instant) {
        if !matches!(self.state, DatabaseState::Up) {
            self.state = DatabaseState::Up;
            // The coordinator may have been unable to write before, so claims count its silence only from here.
            self.up_since = now;
            self.mark_stale();
        }
    }

    /// Gives up jobs that take longer than `timeout`. Returns the job for posts if the node gave it up.
    pub(crate) fn give_up_late_jobs(
        &mut self,
        now: Instant,
        timeout: Duration,
    ) -> Option<RunningJob> {
        let is_due = |job: &mut RunningJob| job.begun + timeout <= now;
        let topology_job = self.topology_job.take_if(is_due);
        let posts_job = self.posts_job.take_if(is_due);
        // The caller answers the clients now. The remembered job only recognizes a late outcome.
        let given_up = posts_job.as_ref().map(|job| RunningJob {
            id: job.id,
            begun: job.begun,
            work: job.work.clone(),
        });
        for job in topology_job.into_iter().chain(posts_job) {
            // A job that was given up may still be committed. The node remembers it, to recognize a late outcome.
            if self.overdue_jobs.len() >= OVERDUE_JOBS_MAX {
                self.overdue_jobs.pop_front();
            }
            // A write without an answer may wait for a locked table. A look does not notice the lock.
            self.has_failed_to_write |= is_written(&job.work);
            self.overdue_jobs.push_back(job);
            // A database that is gone stays gone, because a failed job is stronger evidence than a late job.
            if self.state == DatabaseState::Up {
                self.state = DatabaseState::Slow;
            }
            self.mark_stale();
        }
        given_up
    }

    /// Whether a poll is due. If a poll is due, the next period begins.
    pub(crate) fn take_poll_due(&mut self, now: Instant, period: Duration) -> bool {
        if self.next_poll > now {
            return false;
        }
        // A process that was stalled must not make up for the polls that it missed.
        self.next_poll = now + period;
        self.wants_look = true;
        self.is_attempt_due = true;
        true
    }

    /// Returns the time at which the next timer is due.
    pub(crate) fn due(&self, timeout: Duration) -> Option<Instant> {
        let lanes = [&self.topology_job, &self.posts_job];
        let jobs = lanes.into_iter().flatten().map(|job| job.begun + timeout);
        // A look that cannot start yet needs no timer, because another input will allow it to start.
        let can_look = self.topology_job.is_none()
            && self.is_prepared
            && !self.has_failed_to_write
            && self.wants_look
            && self.overdue_jobs.len() < OVERDUE_JOBS_MAX
            && (self.state == DatabaseState::Up || self.is_attempt_due);
        // Before the first look there is no gap to wait for.
        let last = self.looks.last().filter(|_| can_look);
        let look = last.map(|last| last + LOOK_GAP_MIN);
        jobs.chain(look).chain([self.next_poll]).min()
    }
}

const fn is_written(work: &Work) -> bool {
    // `Serve` writes its guard even if its requests only read, so its success proves that writes work.
    !matches!(work, Work::ReadRing)
}

#[cfg(test)]
impl Database {
    pub(crate) const fn slow_down(&mut self) {
        self.state = DatabaseState::Slow;
    }
}
