//! Jobs that run once in a period: two runs of the same job never begin within one period.
//!
//! At grade quorum, this rule always holds. At other grades, the rule holds if the segment never splits and loses no
//! frame. In addition, a node that knows about the run must stay up.

use std::time::Duration;

use ring_proto::lab2::{Command, Grade, JobName, OnceProgress, OnceRequest, RunEnd};
use ring_proto::time::nanos;
use ring_runtime::driver::Driver;

use super::Inspect;
use super::checks::StampedRun;
use super::node::{JobRun, JobRunState};
use super::outcome::Rule;
use super::settings::FaultKind;
use super::system::{Lab2Event, World};
use crate::kernel::queue::id;

const SECOND: u64 = 1_000_000_000;
/// When 99 % of a period have passed on a node's clock, at least this percentage has passed in simulated time. The next
/// run may begin at that time.
const PERIOD_PERCENT_MIN: u64 = 97;
/// The kinds of fault that neither split the segment nor lose frames.
const HARMLESS_KINDS: [FaultKind; 8] = [
    FaultKind::Crash,
    FaultKind::Work,
    FaultKind::Leave,
    FaultKind::Address,
    FaultKind::Yield,
    FaultKind::HoldOff,
    FaultKind::Once,
    FaultKind::Lock,
];

const fn period(job: u8) -> u64 {
    (2 << job) * SECOND
}

fn name(job: u8) -> Option<JobName> {
    JobName::new(&format!("job-{job}"))
}

impl<M: Inspect> World<M> {
    /// Makes the node request a job, unless it already requests the token.
    pub(super) fn start_job_run(&mut self, at: usize, job: u8, quorum: bool, work: u64) {
        let node = &self.nodes[at];
        if node.own.job.is_some() || node.own.job_run.is_some() || !node.is_running() {
            return;
        }
        self.system.jobs += 1;
        self.nodes[at].own.job_run = Some(JobRun {
            number: self.system.jobs,
            job,
            quorum,
            work,
            stage: JobRunState::Waiting,
        });
        self.command(at, Command::WantToken);
    }

    /// Schedules the next step of a node's job run, if a job runs.
    pub(super) fn schedule_job_step(&mut self, at: usize) {
        let node = &self.nodes[at];
        let Some((job_run, driver)) = node.own.job_run.zip(node.driver.as_ref()) else {
            return;
        };
        let machine = driver.machine();
        let goes_on = match (job_run.stage, machine.once()) {
            (JobRunState::Waiting, None) => self.may_request_run(at, &job_run),
            (JobRunState::Asked, Some((_, OnceProgress::Asking)))
            | (JobRunState::Working(_), Some(_)) => false,
            _ => true,
        };
        if goes_on {
            self.later(self.now, Lab2Event::JobRun(id(at), job_run.number));
        }
    }

    /// Whether the node may request permission for the job. After a start, the node first waits until it has a lease,
    /// as a daemon does.
    fn may_request_run(&self, at: usize, job_run: &JobRun) -> bool {
        let node = &self.nodes[at];
        let Some(machine) = node.driver.as_ref().map(Driver::machine) else {
            return false;
        };
        let is_safe = !job_run.quorum || machine.quorum_until().is_some();
        machine
            .lease_until(node.clock.now(self.now).monotonic)
            .is_some()
            && is_safe
    }

    pub(super) fn step_job_run(&mut self, at: usize, number: u32) {
        let node = &self.nodes[at];
        let Some(job_run) = node.own.job_run.filter(|job_run| job_run.number == number) else {
            return;
        };
        if !node.is_running() {
            // When the process continues, it handles the run again.
            return self.later(self.now + SECOND / 100, Lab2Event::JobRun(id(at), number));
        }
        let Some(driver) = node.driver.as_ref() else {
            return;
        };
        let standing = driver.machine().once().map(|(_, standing)| standing);
        match (job_run.stage, standing) {
            (JobRunState::Waiting, None) if self.may_request_run(at, &job_run) => {
                self.request_run(at, &job_run);
            }
            (JobRunState::Asked, None) => self.set_stage(at, JobRunState::Waiting),
            (JobRunState::Asked, Some(OnceProgress::Begun)) => self.begin_run(at, &job_run),
            (JobRunState::Asked, Some(OnceProgress::Asking)) => {}
            (JobRunState::Asked, Some(_)) => self.finish_job_run(at, &job_run, RunEnd::NotRun),
            (JobRunState::Working(until), Some(_)) if self.now >= until => {
                self.finish_job_run(at, &job_run, RunEnd::Done);
            }
            // The run was lost with the token.
            (JobRunState::Working(_), None) => self.finish_job_run(at, &job_run, RunEnd::Unknown),
            (JobRunState::Waiting | JobRunState::Working(_), _) => {}
        }
    }

    fn set_stage(&mut self, at: usize, stage: JobRunState) {
        if let Some(job_run) = &mut self.nodes[at].own.job_run {
            job_run.stage = stage;
        }
        self.schedule_job_step(at);
    }

    fn request_run(&mut self, at: usize, job_run: &JobRun) {
        let Some(name) = name(job_run.job) else {
            return;
        };
        if let Some(job_run) = &mut self.nodes[at].own.job_run {
            job_run.stage = JobRunState::Asked;
        }
        let require = if job_run.quorum {
            Grade::Quorum
        } else {
            Grade::Alone
        };
        self.command(
            at,
            Command::Once(OnceRequest {
                id: job_run.number.into(),
                name,
                every: Duration::from_nanos(period(job_run.job)),
                retry: false,
                require,
            }),
        );
    }

    /// Ends the node's job run.
    pub(super) fn cancel_job_run(&mut self, at: usize) {
        if let Some(job_run) = self.nodes[at].own.job_run {
            self.finish_job_run(at, &job_run, RunEnd::Unknown);
        }
    }

    fn finish_job_run(&mut self, at: usize, job_run: &JobRun, end: RunEnd) {
        self.nodes[at].own.job_run = None;
        self.command(at, Command::EndOnce(job_run.number.into(), end));
        self.command(at, Command::WorkDone);
    }

    fn begin_run(&mut self, at: usize, job_run: &JobRun) {
        let until = self.now + job_run.work;
        if let Some(job_run) = &mut self.nodes[at].own.job_run {
            job_run.stage = JobRunState::Working(until);
        }
        self.later(until, Lab2Event::JobRun(id(at), job_run.number));
        self.system.stats.counters.runs += 1;
        let driver = self.nodes[at].driver.as_ref();
        let run = driver
            .zip(name(job_run.job))
            .and_then(|(driver, name)| driver.machine().run_of(name));
        let age = run.map_or(0, |run| nanos(run.age));
        self.compare_runs(StampedRun {
            at: self.now.saturating_sub(age),
            node: at,
            job: job_run.job,
            quorum: job_run.quorum,
        });
    }

    fn compare_runs(&mut self, run: StampedRun) {
        let least = period(run.job) / 100 * PERIOD_PERCENT_MIN;
        let is_whole = self.is_whole();
        let oldest = self.nodes.iter().filter(|node| node.driver.is_some());
        let oldest = oldest.map(|node| node.up_since).min().unwrap_or(self.now);
        let checks = &mut self.system.checks;
        // A node that has been up since the time of the run has stored the stamp.
        let counts = |it: &&StampedRun| {
            let is_known = is_whole && oldest + SECOND <= it.at;
            it.job == run.job && (is_known || it.quorum && run.quorum)
        };
        let before = checks.runs.iter().rev().find(counts).copied();
        if let Some(before) = before.filter(|before| run.at < before.at + least) {
            if checks.exemptions.may_run_again(before.at) {
                checks.exempted += 1;
            } else {
                let apart = Duration::from_nanos(run.at.saturating_sub(before.at));
                let what = format!("job {} {apart:?} after n{} ran it", run.job, before.node);
                checks.report(self.now, Some(run.node), Rule::Once, what);
            }
        }
        checks.runs.push(run);
    }

    /// Whether no fault prevented a node from receiving a frame.
    fn is_whole(&self) -> bool {
        let mut kinds = FaultKind::ALL.iter();
        kinds.all(|kind| HARMLESS_KINDS.contains(kind) || self.system.stats.fault_count(*kind) == 0)
    }
}
