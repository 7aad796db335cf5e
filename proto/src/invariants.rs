//! Checks a state machine against a table of invariants. Each machine has its own table.

use std::fmt::Debug;

/// An invariant: a sentence, and a function that returns whether it holds for a machine.
pub(crate) type Invariant<M> = (&'static str, fn(&M) -> bool);

/// Checks the invariants in builds with debug assertions.
///
/// # Panics
/// If an invariant does not hold; the message has its sentence and the machine.
pub(crate) fn check<M: Debug>(machine: &M, invariants: &[Invariant<M>]) {
    // The condition is an `if`, so that the compiler sees the invariants in all builds.
    if !cfg!(debug_assertions) {
        return;
    }
    if let Some(sentence) = broken(machine, invariants) {
        panic!("{sentence}: {machine:?}");
    }
}

/// Returns the sentence of the first invariant that does not hold.
fn broken<M>(machine: &M, invariants: &[Invariant<M>]) -> Option<&'static str> {
    let broken = invariants.iter().find(|(_, holds)| !holds(machine));
    broken.map(|(sentence, _)| *sentence)
}

/// For one invariant: a function that makes a sound machine, and one that breaks only this invariant.
#[cfg(test)]
pub(crate) type BrokenCase<S, M> = (fn() -> S, fn(&mut M));

/// Asserts that each invariant is reported when it is broken. `machine` takes the machine out of the made value.
#[cfg(test)]
pub(crate) fn assert_each_breaks<S, M>(
    invariants: &[Invariant<M>],
    spoilt: &[BrokenCase<S, M>],
    machine: fn(S) -> M,
) {
    assert_eq!(spoilt.len(), invariants.len());
    for (&(make, spoil), (sentence, _)) in spoilt.iter().zip(invariants) {
        let mut machine = machine(make());
        assert_eq!(broken(&machine, invariants), None, "{sentence}");
        spoil(&mut machine);
        assert_eq!(broken(&machine, invariants), Some(*sentence));
    }
}
