//! Whole runs: first the faults, then the recovery from them.

use super::guard::guarded;
use super::schedule::Schedule;
use super::trace::Trace;
use super::violation;

/// A schedule from which a whole run follows.
pub trait Run: Schedule {
    /// Runs the schedule, which is sound, to its end, and returns the lines of the trace as well.
    ///
    /// # Panics
    /// A machine does.
    fn play(&self, trace: Trace) -> (Outcome<Self>, Vec<String>);
}

/// What a run has come to.
pub type Outcome<S> = violation::Outcome<<S as Schedule>::Rule, <S as Schedule>::Stats>;

/// Runs a schedule, which is sound. A machine that panics is a violation.
pub fn replay<S: Run>(schedule: &S) -> Outcome<S> {
    play(schedule, 0).0
}

/// The same, with the last lines of what happens in it, `most` at most.
pub fn play<S: Run>(schedule: &S, most: usize) -> (Outcome<S>, Vec<String>) {
    guarded(|| schedule.play(Trace::of(most))).unwrap_or_else(|what| {
        let time_us = schedule.parts().time_us;
        let outcome = Outcome::<S>::panicked(time_us, S::PANIC, what);
        (outcome, Vec::new())
    })
}
