//! A run written down, as far as the kernel knows it.

use serde::{Deserialize, Serialize};

/// Something that goes wrong, or is wanted, at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action<F> {
    /// When, in microseconds from the beginning.
    pub at_us: u64,
    /// What.
    #[serde(flatten)]
    pub fault: F,
}

/// A system's schedule, for who makes it shorter.
pub trait Schedule: Clone + PartialEq {
    /// What may go wrong in it.
    type Fault;

    /// How many nodes there are.
    fn nodes(&self) -> usize;
    /// How long the faults last, in microseconds.
    fn time_us(&self) -> u64;
    /// Lets them last for another time.
    fn set_time_us(&mut self, time_us: u64);
    /// What goes wrong, in order of time.
    fn actions(&self) -> &[Action<Self::Fault>];
    /// The same, to change it.
    fn actions_mut(&mut self) -> &mut Vec<Action<Self::Fault>>;
    /// The schedule without a node, and without the actions that name it; those above it are
    /// numbered anew.
    #[must_use]
    fn without(&self, node: usize) -> Self;
    /// Lets every node be there when the faults have ended.
    fn start_all_again(&mut self);
}
