//! Whole runs.

use super::Inspect;
use super::outcome::{Outcome, Rule};
use super::recorder::Recorder;
use super::schedule::Schedule;
use super::settings::Settings;
use super::system::World;
use crate::kernel::run::catch_panic;
use crate::kernel::schedule::Schedule as _;

/// Runs the schedule of these settings: first the faults, then the recovery.
pub fn run<M: Inspect>(settings: &Settings) -> Outcome {
    replay::<M>(&Schedule::of(settings), None)
}

/// Runs a schedule; `recorder` sees every detail. A panic of the state machine is a violation.
pub fn replay<M: Inspect>(schedule: &Schedule, recorder: Option<Box<dyn Recorder>>) -> Outcome {
    catch_panic(|| {
        let mut sim = World::<M>::of(schedule);
        if let Some(recorder) = recorder {
            sim.set_recorder(recorder);
        }
        sim.start_all();
        sim.run(schedule.time());
        sim.recover(schedule);
        sim.finish()
    })
    .unwrap_or_else(|what| Outcome::from_panic(schedule.time_us, Rule::Panic, what))
}

#[cfg(test)]
mod tests;
