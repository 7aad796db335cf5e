//! A cache of inputs and their outcomes. Many orders of events give a node the same inputs, and a state machine is
//! pure.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use ring_proto::time::Instant;

/// The number of entries at which the cache is cleared: some hundred MB in a deep run.
const CACHE_ENTRIES_MAX: usize = 200_000;

/// Everything on which an outcome depends, except for the scenario.
pub struct TurnInput<N, I> {
    /// The index of the node.
    pub at: usize,
    /// The node before the input.
    pub node: Arc<N>,
    /// The input.
    pub input: I,
    /// The time of the input.
    pub time: Instant,
    /// Whether its link refuses all frames.
    pub refused: bool,
}

// Two nodes are equal here only if they are the same object, so that no node is confused with another of an equal
// key. The entry keeps the object alive, so its address is not reused.
impl<N, I: PartialEq> PartialEq for TurnInput<N, I> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node)
            && (self.at, self.time, self.refused) == (other.at, other.time, other.refused)
            && self.input == other.input
    }
}

impl<N, I: Eq> Eq for TurnInput<N, I> {}

impl<N, I: Hash> Hash for TurnInput<N, I> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.node).hash(state);
        (self.at, self.time, self.refused).hash(state);
        self.input.hash(state);
    }
}

/// The cache of one exploration.
pub struct TurnCache<N, I, O> {
    known: Mutex<HashMap<TurnInput<N, I>, Arc<O>>>,
}

impl<N, I, O> Default for TurnCache<N, I, O> {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
        }
    }
}

impl<N, I: Hash + Eq, O> TurnCache<N, I, O> {
    /// Returns the outcome of an input from the cache, or runs it.
    pub fn outcome(
        &self,
        asked: TurnInput<N, I>,
        run: impl FnOnce(&TurnInput<N, I>) -> O,
    ) -> Arc<O> {
        // Run outside the lock, so that a panic does not poison it.
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = known().get(&asked) {
            return Arc::clone(outcome);
        }
        let outcome = Arc::new(run(&asked));
        let mut known = known();
        if known.len() == CACHE_ENTRIES_MAX {
            known.clear();
        }
        known.insert(asked, Arc::clone(&outcome));
        outcome
    }
}
