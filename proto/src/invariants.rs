//! The check of a state machine against a table of invariants. Each machine has its own table.

use std::fmt::Debug;

/// An invariant: a sentence, and a function that returns whether the sentence holds for a machine.
pub(crate) type Invariant<M> = (&'static str, fn(&M) -> bool);

/// Checks the invariants in builds with debug assertions.
///
/// # Panics
/// Panics if an invariant does not hold. The message of the panic contains the sentence and the machine.
pub(crate) fn check<M: Debug>(machine: &M, invariants: &[Invariant<M>]) {
    // The condition is an `if` and not an attribute, so that the compiler checks the invariants in all builds.
    if !cfg!(debug_assertions) {
        return;
    }
    if let Some(sentence) = find_broken(machine, invariants) {
        panic!("{sentence}: {machine:?}");
    }
}

/// Returns the sentence of the first invariant that does not hold.
fn find_broken<M>(machine: &M, invariants: &[Invariant<M>]) -> Option<&'static str> {
    let broken = invariants.iter().find(|(_, holds)| !holds(machine));
    broken.map(|(sentence, _)| *sentence)
}

/// A test of one invariant: a function that creates a valid machine, and a function that breaks only this invariant.
#[cfg(test)]
pub(crate) type BrokenCase<S, M> = (fn() -> S, fn(&mut M));

/// Asserts that the check reports each invariant that a case breaks. `machine` takes the value that the case creates,
/// and returns the machine inside this value.
#[cfg(test)]
pub(crate) fn assert_each_breaks<S, M>(
    invariants: &[Invariant<M>],
    spoilt: &[BrokenCase<S, M>],
    machine: fn(S) -> M,
) {
    assert_eq!(spoilt.len(), invariants.len());
    for (&(make, spoil), (sentence, _)) in spoilt.iter().zip(invariants) {
        let mut machine = machine(make());
        assert_eq!(find_broken(&machine, invariants), None, "{sentence}");
        spoil(&mut machine);
        assert_eq!(find_broken(&machine, invariants), Some(*sentence));
    }
}
