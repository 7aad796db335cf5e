//! The programs that compute data, and decide between two versions of the data. As in the daemon's worker, only one
//! program runs at a time.

use ring_proto::JobRequest;
use ring_proto::jitterbug::{Command, Job, Outcome, Work, policy};

use super::data;
use super::node::HostInput;
use super::schedule::ProgramBehavior;
use super::settings::FaultKind;
use super::system::{JitterbugEvent, World};

const MS: u64 = 1_000_000;
/// The time after which a lingering program dies, in nanoseconds.
const LINGER_NANOS: u64 = 300 * MS;

impl World {
    /// Takes the jobs of a node's state machine.
    pub(super) fn take_jobs(&mut self, at: usize) {
        while let Some(wanted) = self.nodes[at]
            .driver
            .as_mut()
            .and_then(ring_runtime::driver::Driver::next_job)
        {
            match wanted {
                JobRequest::Start(job) => {
                    self.nodes[at].own.programs.waiting.push_back((job, false));
                    self.start_job(at);
                }
                JobRequest::Cancel => self.kill_programs(at),
            }
        }
    }

    fn start_job(&mut self, at: usize) {
        let timeout = self.system.compute_timeout;
        let programs = &mut self.nodes[at].own.programs;
        if programs.running.is_some() {
            return;
        }
        let Some((job, is_killed)) = programs.waiting.pop_front() else {
            return;
        };
        programs.running = Some(job);
        let behavior = if is_killed {
            ProgramBehavior::Fail
        } else {
            programs.behavior
        };
        if behavior != ProgramBehavior::Quick && !is_killed {
            self.system.count_fault(FaultKind::Jobs);
        }
        match behavior {
            ProgramBehavior::Quick => {
                let takes = self.rng.between(MS / 20, 3 * MS);
                self.end_job(at, takes, true);
            }
            ProgramBehavior::Slow => {
                let takes = self.rng.between(timeout / 2, timeout + timeout / 2);
                self.end_job(at, takes, true);
            }
            ProgramBehavior::Fail => self.end_job(at, MS, false),
            ProgramBehavior::Hang | ProgramBehavior::Linger => {}
        }
    }

    /// Schedules the end of the current program.
    fn end_job(&mut self, at: usize, takes: u64, succeeds: bool) {
        let due = self.now + takes;
        let own = &mut self.nodes[at].own;
        own.programs.serial += 1;
        let end = JitterbugEvent::Job {
            node: at,
            serial: own.programs.serial,
            succeeds,
        };
        self.later_in_life(at, due, end);
    }

    fn kill_programs(&mut self, at: usize) {
        let programs = &mut self.nodes[at].own.programs;
        for (_, is_killed) in &mut programs.waiting {
            *is_killed = true;
        }
        let takes = match programs.behavior {
            ProgramBehavior::Linger => LINGER_NANOS,
            _ => MS / 2,
        };
        if programs.running.is_some() {
            self.end_job(at, takes, false);
        }
    }

    pub(super) fn finish_job(&mut self, at: usize, serial: u64, succeeds: bool) {
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
        self.start_job(at);
        self.give_input(at, HostInput::Command(Command::Done { job: id, outcome }));
    }
}
