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
        let mut world = World::of(self);
        world.system.trace = trace;
        for at in 0..world.len() {
            world.start(at);
        }
        world.run(self.time());
        if world.system.checks.findings.violations.is_empty() {
            world.recover(self);
        }
        let lines = world.system.trace.take();
        (world.finish(), lines)
    }
}
