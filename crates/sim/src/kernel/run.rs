//! Whole runs: first the faults, then the recovery from them.

use super::guard::guarded;
use super::schedule::Schedule;
use super::shrink;
use super::stats::Tally;
use super::trace::Trace;
use super::violation;

/// A schedule from which a whole run follows.
pub trait Run: Schedule {
    /// What must hold.
    type Rule: Copy + Eq;
    /// What is counted.
    type Stats: Tally;

    /// What a machine that panics breaks.
    const PANIC: Self::Rule;

    /// Decides what the schedule leaves open.
    fn seed(&self) -> u64;
    /// What it shows, for the reader.
    fn about_mut(&mut self) -> &mut String;
    /// Runs the schedule, which is sound, to its end, and returns the lines of the trace as well.
    ///
    /// # Panics
    /// A machine does.
    fn play(&self, trace: Trace) -> (Outcome<Self>, Vec<String>);
}

/// What a run has come to.
pub type Outcome<S> = violation::Outcome<<S as Run>::Rule, <S as Run>::Stats>;

/// Runs a schedule, which is sound. A machine that panics is a violation.
pub fn replay<S: Run>(schedule: &S) -> Outcome<S> {
    traced(schedule, Trace::default()).0
}

/// The last lines of what happens in a schedule's run, `most` at most.
pub fn trace<S: Run>(schedule: &S, most: usize) -> Vec<String> {
    traced(schedule, Trace::of(most)).1
}

fn traced<S: Run>(schedule: &S, trace: Trace) -> (Outcome<S>, Vec<String>) {
    guarded(|| schedule.play(trace)).unwrap_or_else(|what| {
        let outcome = Outcome::<S>::panicked(schedule.time_us(), S::PANIC, what);
        (outcome, Vec::new())
    })
}

/// Finds a shorter schedule in which the same rule is broken: fewer actions, fewer nodes, less
/// time. `tried` is told how many runs that has taken so far, and how many actions are left.
///
/// The schedule comes back as it was if the rule is not broken in it.
pub fn shrink<S: Run>(schedule: &S, rule: S::Rule, tried: impl FnMut(usize, usize)) -> S {
    shrink::shrink(schedule, |shorter| replay(shorter).breaks(rule), tried)
}
