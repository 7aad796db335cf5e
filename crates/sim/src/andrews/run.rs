//! Whole runs.

use super::outcome::{Outcome, Rule, Stats};
use super::plan::Schedule;
use super::settings::Settings;
use super::world::World;
use crate::kernel::run::{Run, replay};
use crate::kernel::trace::Trace;

/// Runs what follows from the settings: first the faults, then the recovery from them.
#[must_use]
pub fn run(settings: &Settings) -> Outcome {
    replay(&Schedule::of(settings))
}

impl Run for Schedule {
    type Rule = Rule;
    type Stats = Stats;

    const PANIC: Rule = Rule::Panic;

    fn seed(&self) -> u64 {
        self.seed
    }

    fn about_mut(&mut self) -> &mut String {
        &mut self.about
    }

    fn play(&self, trace: Trace) -> (Outcome, Vec<String>) {
        let mut world = World::of(self);
        world.system.trace = trace;
        world.schedule(self.actions.clone().into());
        for at in 0..world.len() {
            world.start(at, false);
        }
        world.run(self.time());
        if world.system.found.violations.is_empty() {
            world.recover(self);
        }
        world.look_at_clients();
        let lines = world.system.trace.take();
        (world.finish(), lines)
    }
}
