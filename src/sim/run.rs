//! Whole runs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::outcome::{Outcome, Rule, Violation};
use super::plan::Schedule;
use super::record::Record;
use super::settings::Settings;
use super::subject::Subject;
use super::world::World;

/// Runs what follows from the settings: first the faults, then the recovery from them.
#[must_use]
pub fn run<M: Subject>(settings: &Settings) -> Outcome {
    replay::<M>(&Schedule::of(settings), None)
}

/// Runs a schedule; `record` sees every detail. A machine that panics is a violation.
#[must_use]
pub fn replay<M: Subject>(schedule: &Schedule, record: Option<Box<dyn Record>>) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| {
        let mut world = World::<M>::of(schedule);
        if let Some(record) = record {
            world.record(record);
        }
        world.start_all();
        world.run(schedule.time());
        world.recover(schedule);
        world.finish()
    }))
    .unwrap_or_else(|panic| {
        let message = panic.downcast::<String>().map_or_else(
            |other| {
                other
                    .downcast::<&str>()
                    .map_or_else(|_| String::new(), |s| (*s).into())
            },
            |message| *message,
        );
        let violation = Violation {
            at: schedule.time(),
            node: None,
            rule: Rule::Panic,
            what: message,
        };
        Outcome {
            violations: vec![violation],
            ..Outcome::default()
        }
    })
}
