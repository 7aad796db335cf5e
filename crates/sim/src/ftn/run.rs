//! Whole runs.

use super::outcome::Outcome;
use super::plan::Schedule;
use super::service::World;
use super::settings::{FaultKind, Settings};
use super::world::Setup;
use crate::kernel::run::{Run, replay};
use crate::kernel::schedule::Schedule as _;
use crate::kernel::trace::Trace;

/// Runs what follows from the settings: first the faults, then the recovery from them.
pub fn run(settings: &Settings) -> Outcome {
    replay(&Schedule::of(settings))
}

impl Run for Schedule {
    fn play(&self, trace: Trace) -> (Outcome, Vec<String>) {
        let setup = Setup::of(self).expect("a sound schedule has servers");
        let mut world = World::of(self, setup);
        world.system.trace = trace;
        if self.is_scarce() {
            world.system.met(FaultKind::Memory);
        }
        world.start_all();
        world.run(self.time());
        if world.system.checks.found.violations.is_empty() {
            world.recover(self);
        }
        let lines = world.system.trace.take();
        (world.finish(), lines)
    }
}
