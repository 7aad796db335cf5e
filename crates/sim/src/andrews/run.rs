//! Whole runs.

use super::outcome::Outcome;
use super::schedule::Schedule;
use super::settings::Settings;
use super::system::World;
use crate::kernel::run::{Run, replay};
use crate::kernel::schedule::Schedule as _;
use crate::kernel::trace::Trace;

/// Runs the schedule of these settings: first the faults, then the recovery.
pub fn run(settings: &Settings) -> Outcome {
    replay(&Schedule::of(settings))
}

impl Run for Schedule {
    fn play(&self, trace: Trace) -> (Outcome, Vec<String>) {
        let mut sim = World::of(self);
        sim.system.trace = trace;
        for at in 0..sim.len() {
            sim.start(at, false);
        }
        sim.run(self.time());
        if sim.system.findings.violations.is_empty() {
            sim.recover(self);
        }
        sim.check_clients();
        let lines = sim.system.trace.take();
        (sim.finish(), lines)
    }
}
