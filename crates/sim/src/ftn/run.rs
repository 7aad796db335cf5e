//! Whole runs.

use super::outcome::Outcome;
use super::schedule::Schedule;
use super::settings::{FaultKind, Settings};
use super::system::World;
use super::world::ProcessOptions;
use crate::kernel::run::{Run, replay};
use crate::kernel::schedule::Schedule as _;
use crate::kernel::trace::Trace;

/// Runs the schedule of these settings: first the faults, then the recovery.
pub fn run(settings: &Settings) -> Outcome {
    replay(&Schedule::of(settings))
}

impl Run for Schedule {
    fn play(&self, trace: Trace) -> (Outcome, Vec<String>) {
        let process_options = ProcessOptions::of(self).expect("a valid schedule has servers");
        let mut sim = World::of(self, process_options);
        sim.system.trace = trace;
        if self.is_scarce() {
            sim.system.count_fault(FaultKind::Memory);
        }
        sim.start_all();
        sim.run(self.time());
        if sim.system.checks.findings.violations.is_empty() {
            sim.recover(self);
        }
        let lines = sim.system.trace.take();
        (sim.finish(), lines)
    }
}
