//! Whole runs.

use super::outcome::{Outcome, Rule, Violation};
use super::plan::Schedule;
use super::settings::{FaultKind, Settings};
use super::world::{Setup, World};
use crate::sim::kernel;
use crate::sim::kernel::guard::guarded;
use crate::sim::kernel::trace::Trace;

/// Runs what follows from the settings: first the faults, then the recovery from them.
#[must_use]
pub fn run(settings: &Settings) -> Outcome {
    replay(&Schedule::of(settings))
}

/// Runs a schedule, which is [sound](Schedule::check). A machine that panics is a violation.
#[must_use]
pub fn replay(schedule: &Schedule) -> Outcome {
    told(schedule, Trace::default()).0
}

/// The last lines of what happens in a schedule's run, `most` at most.
#[must_use]
pub fn trace(schedule: &Schedule, most: usize) -> Vec<String> {
    told(schedule, Trace::of(most)).1
}

fn told(schedule: &Schedule, trace: Trace) -> (Outcome, Vec<String>) {
    let run = || {
        let setup = Setup::of(schedule)?;
        let mut world = World::of(schedule, setup);
        world.system.trace = trace;
        world.schedule(schedule.actions.clone().into());
        if schedule.is_scarce() {
            world.system.met(FaultKind::Memory);
        }
        world.start_all();
        world.run(schedule.time());
        if world.system.checks.violations.is_empty() {
            world.recover(schedule);
        }
        let lines = world.system.trace.take();
        Some((world.finish(), lines))
    };
    let nobody = || Err("there are no servers".into());
    guarded(run)
        .and_then(|ran| ran.map_or_else(nobody, Ok))
        .unwrap_or_else(|what| {
            let outcome = Outcome {
                violations: vec![Violation {
                    at: schedule.time(),
                    node: None,
                    rule: Rule::Panic,
                    what,
                }],
                ..Outcome::default()
            };
            (outcome, Vec::new())
        })
}

/// Finds a shorter schedule in which the same rule is broken: fewer actions, fewer nodes, less
/// time. `tried` is told how many runs that has taken so far, and how many actions are left.
///
/// The schedule comes back as it was if the rule is not broken in it.
pub fn shrink(schedule: &Schedule, rule: Rule, tried: impl FnMut(usize, usize)) -> Schedule {
    let fails = |schedule: &Schedule| {
        let outcome = replay(schedule);
        let mut broken = outcome.violations.iter();
        broken.any(|violation| violation.rule == rule)
    };
    kernel::shrink::shrink(schedule, fails, tried)
}
