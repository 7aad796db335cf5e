//! Whole runs.

use super::Subject;
use super::outcome::{Outcome, Rule};
use super::plan::Schedule;
use super::record::Record;
use super::ring::World;
use super::settings::Settings;
use crate::kernel::run::guarded;
use crate::kernel::schedule::Schedule as _;

/// Runs what follows from the settings: first the faults, then the recovery from them.
pub fn run<M: Subject>(settings: &Settings) -> Outcome {
    replay::<M>(&Schedule::of(settings), None)
}

/// Runs a schedule; `record` sees every detail. A machine that panics is a violation.
pub fn replay<M: Subject>(schedule: &Schedule, record: Option<Box<dyn Record>>) -> Outcome {
    guarded(|| {
        let mut world = World::<M>::of(schedule);
        if let Some(record) = record {
            world.record(record);
        }
        world.start_all();
        world.run(schedule.time());
        world.recover(schedule);
        world.finish()
    })
    .unwrap_or_else(|what| Outcome::panicked(schedule.time_us, Rule::Panic, what))
}

#[cfg(test)]
mod tests;
