//! Nodes with jobs that are to run once in a period: two runs of one never begin within it.
//!
//! At grade quorum that holds whatever happens. Below it holds on a segment that was never cut and
//! lost nothing, as long as a node is up that knows of the run.

use std::time::Duration;

use ring_proto::lab2::{Command, Grade, JobName, OnceRequest, OnceStanding, RunEnd};
use ring_proto::time::nanos;
use ring_runtime::driver::Driver;

use super::Subject;
use super::checks::Run;
use super::node::{Errand, Stage};
use super::outcome::Rule;
use super::ring::{Due, World};
use super::settings::FaultKind;
use crate::kernel::queue::id;

const SECOND: u64 = 1_000_000_000;
/// Of a hundred parts of a period so many have passed by the world's time at least when 99 have by a
/// node's, which is when the next run may begin.
const LEAST: u64 = 97;
/// What does not keep a segment from being whole.
const HARMLESS: [FaultKind; 7] = [
    FaultKind::Crash,
    FaultKind::Work,
    FaultKind::Leave,
    FaultKind::Address,
    FaultKind::Yield,
    FaultKind::HoldOff,
    FaultKind::Once,
];

/// The period of a job.
const fn period(job: u8) -> u64 {
    (2 << job) * SECOND
}

fn name(job: u8) -> Option<JobName> {
    JobName::new(&format!("job-{job}"))
}

impl<M: Subject> World<M> {
    /// The node wants to run a job, unless it wants something else already.
    pub(super) fn send_on_errand(&mut self, at: usize, job: u8, quorum: bool, work: u64) {
        let node = &self.nodes[at];
        if node.own.job.is_some() || node.own.errand.is_some() || !node.is_running() {
            return;
        }
        self.system.jobs += 1;
        self.nodes[at].own.errand = Some(Errand {
            number: self.system.jobs,
            job,
            quorum,
            work,
            stage: Stage::Waiting,
        });
        self.command(at, Command::WantToken);
    }

    /// Sees to it that an errand goes on that can.
    pub(super) fn look_at_errand(&mut self, at: usize) {
        let node = &self.nodes[at];
        let Some((errand, driver)) = node.own.errand.zip(node.driver.as_ref()) else {
            return;
        };
        let machine = driver.machine();
        let goes_on = match (errand.stage, machine.once()) {
            (Stage::Waiting, None) => self.may_ask(at, &errand),
            (Stage::Asked, Some((_, OnceStanding::Asking))) | (Stage::Working(_), Some(_)) => false,
            _ => true,
        };
        if goes_on {
            self.later(self.now, Due::Errand(id(at), errand.number));
        }
    }

    /// As the daemon grants the token: not just after its start.
    fn may_ask(&self, at: usize, errand: &Errand) -> bool {
        let node = &self.nodes[at];
        let Some(machine) = node.driver.as_ref().map(Driver::machine) else {
            return false;
        };
        let is_safe = !errand.quorum || machine.quorum_until().is_some();
        machine
            .lease_until(node.clock.now(self.now).monotonic)
            .is_some()
            && is_safe
    }

    /// The next step of an errand.
    pub(super) fn go_on_with_errand(&mut self, at: usize, number: u32) {
        let node = &self.nodes[at];
        let Some(errand) = node.own.errand.filter(|errand| errand.number == number) else {
            return;
        };
        if !node.is_running() {
            // It is looked at again when the process goes on.
            return self.later(self.now + SECOND / 100, Due::Errand(id(at), number));
        }
        let Some(driver) = node.driver.as_ref() else {
            return;
        };
        let standing = driver.machine().once().map(|(_, standing)| standing);
        match (errand.stage, standing) {
            (Stage::Waiting, None) if self.may_ask(at, &errand) => self.ask_for(at, &errand),
            (Stage::Asked, None) => self.set_stage(at, Stage::Waiting),
            (Stage::Asked, Some(OnceStanding::Begun)) => self.begin_run(at, &errand),
            (Stage::Asked, Some(OnceStanding::Asking)) => {}
            (Stage::Asked, Some(_)) => self.end_errand(at, &errand, RunEnd::NotRun),
            (Stage::Working(until), Some(_)) if self.now >= until => {
                self.end_errand(at, &errand, RunEnd::Done);
            }
            // The token was lost meanwhile, and so was the run.
            (Stage::Working(_), None) => self.end_errand(at, &errand, RunEnd::Unknown),
            (Stage::Waiting | Stage::Working(_), _) => {}
        }
    }

    fn set_stage(&mut self, at: usize, stage: Stage) {
        if let Some(errand) = &mut self.nodes[at].own.errand {
            errand.stage = stage;
        }
        self.look_at_errand(at);
    }

    fn ask_for(&mut self, at: usize, errand: &Errand) {
        let Some(name) = name(errand.job) else { return };
        if let Some(errand) = &mut self.nodes[at].own.errand {
            errand.stage = Stage::Asked;
        }
        let require = if errand.quorum {
            Grade::Quorum
        } else {
            Grade::Alone
        };
        self.command(
            at,
            Command::Once(OnceRequest {
                id: errand.number.into(),
                name,
                every: Duration::from_nanos(period(errand.job)),
                retry: false,
                require,
            }),
        );
    }

    /// The node no longer wants to run anything.
    pub(super) fn give_up_errand(&mut self, at: usize) {
        if let Some(errand) = self.nodes[at].own.errand {
            self.end_errand(at, &errand, RunEnd::Unknown);
        }
    }

    fn end_errand(&mut self, at: usize, errand: &Errand, end: RunEnd) {
        self.nodes[at].own.errand = None;
        self.command(at, Command::EndOnce(errand.number.into(), end));
        self.command(at, Command::WorkDone);
    }

    fn begin_run(&mut self, at: usize, errand: &Errand) {
        let until = self.now + errand.work;
        if let Some(errand) = &mut self.nodes[at].own.errand {
            errand.stage = Stage::Working(until);
        }
        self.later(until, Due::Errand(id(at), errand.number));
        self.system.stats.counters.runs += 1;
        let driver = self.nodes[at].driver.as_ref();
        let run = driver
            .zip(name(errand.job))
            .and_then(|(driver, name)| driver.machine().run_of(name));
        let age = run.map_or(0, |run| nanos(run.age));
        self.compare_runs(Run {
            at: self.now.saturating_sub(age),
            node: at,
            job: errand.job,
            quorum: errand.quorum,
        });
    }

    fn compare_runs(&mut self, run: Run) {
        let least = period(run.job) / 100 * LEAST;
        let is_whole = self.is_whole();
        let oldest = self.nodes.iter().filter(|node| node.driver.is_some());
        let oldest = oldest.map(|node| node.up_since).min().unwrap_or(self.now);
        let checks = &mut self.system.checks;
        // A node that was there long enough to be counted on, and is still, has stored the stamp.
        let counts = |it: &&Run| {
            let is_known = is_whole && oldest + SECOND <= it.at;
            it.job == run.job && (is_known || it.quorum && run.quorum)
        };
        let before = checks.runs.iter().rev().find(counts).copied();
        if let Some(before) = before.filter(|before| run.at < before.at + least) {
            if checks.exempt.once(before.at) {
                checks.exempted += 1;
            } else {
                let apart = Duration::from_nanos(run.at.saturating_sub(before.at));
                let what = format!("job {} {apart:?} after n{} ran it", run.job, before.node);
                checks.broken(self.now, Some(run.node), Rule::Once, what);
            }
        }
        checks.runs.push(run);
    }

    /// Whether nothing has happened that keeps a frame from anybody.
    fn is_whole(&self) -> bool {
        let mut kinds = FaultKind::ALL.iter();
        kinds.all(|kind| HARMLESS.contains(kind) || self.system.stats.met(*kind) == 0)
    }
}
