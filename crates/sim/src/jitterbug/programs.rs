//! The programs that compute and decide: one at a time, as the daemon's worker runs them.

use ring_proto::JobOp;
use ring_proto::jitterbug::{Command, Job, Outcome, Work, policy};

use super::data;
use super::node::Told;
use super::plan::Mood;
use super::segment::{Due, World};
use super::settings::FaultKind;

const MS: u64 = 1_000_000;
/// A program that does not die at once does so after this time, in nanoseconds.
const LINGERS: u64 = 300 * MS;

impl World {
    /// Takes up what a node's machine wants done off its loop.
    pub fn take_jobs(&mut self, at: usize) {
        while let Some(wanted) = self.nodes[at]
            .driver
            .as_mut()
            .and_then(ring_runtime::driver::Driver::next_job)
        {
            match wanted {
                JobOp::Start(job) => {
                    self.nodes[at].own.programs.waiting.push_back((job, false));
                    self.begin_job(at);
                }
                JobOp::Cancel => self.kill(at),
            }
        }
    }

    fn begin_job(&mut self, at: usize) {
        let timeout = self.system.compute_timeout;
        let programs = &mut self.nodes[at].own.programs;
        if programs.running.is_some() {
            return;
        }
        let Some((job, is_killed)) = programs.waiting.pop_front() else {
            return;
        };
        programs.running = Some(job);
        let mood = if is_killed { Mood::Fail } else { programs.mood };
        if mood != Mood::Quick && !is_killed {
            self.system.met(FaultKind::Jobs);
        }
        match mood {
            Mood::Quick => {
                let takes = self.rng.between(MS / 20, 3 * MS);
                self.end_job(at, takes, true);
            }
            Mood::Slow => {
                let takes = self.rng.between(timeout / 2, timeout + timeout / 2);
                self.end_job(at, takes, true);
            }
            Mood::Fail => self.end_job(at, MS, false),
            Mood::Hang | Mood::Linger => {}
        }
    }

    /// The program in hand ends after this time.
    fn end_job(&mut self, at: usize, takes: u64, succeeds: bool) {
        let due = self.now + takes;
        let own = &mut self.nodes[at].own;
        own.programs.serial += 1;
        let end = Due::Job {
            node: at,
            serial: own.programs.serial,
            succeeds,
        };
        self.later_in_life(at, due, end);
    }

    fn kill(&mut self, at: usize) {
        let programs = &mut self.nodes[at].own.programs;
        for (_, is_killed) in &mut programs.waiting {
            *is_killed = true;
        }
        let takes = match programs.mood {
            Mood::Linger => LINGERS,
            _ => MS / 2,
        };
        if programs.running.is_some() {
            self.end_job(at, takes, false);
        }
    }

    /// A program has ended.
    pub fn job_ended(&mut self, at: usize, serial: u64, succeeds: bool) {
        let padding = self.system.data.padding;
        let programs = &mut self.nodes[at].own.programs;
        if programs.serial != serial {
            return;
        }
        let Some(Job { id, work }) = programs.running.take() else {
            return;
        };
        let outcome = match work {
            _ if !succeeds => Outcome::Failed,
            Work::Compute(own) => data::number_of(&own).map_or(Outcome::Failed, |number| {
                Outcome::Computed(data::of(number + 1, padding).into())
            }),
            Work::Decide { received, own } => Outcome::Decided {
                received: policy::greater(&received, &own),
            },
        };
        let counters = &mut self.system.stats.counters;
        if outcome == Outcome::Failed {
            counters.programs_failed += 1;
        } else {
            counters.programs_done += 1;
        }
        self.begin_job(at);
        self.tell(at, Told::Asked(Command::Done { job: id, outcome }));
    }
}
