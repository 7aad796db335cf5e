//! A cache of inputs and their outcomes. Many orders of events give a node the same inputs. A state machine always
//! gives the same outcome for the same input.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use ring_proto::time::Instant;

/// The number of entries at which the cache is cleared. In a deep run, this number of entries uses some hundred MB.
const CACHE_ENTRIES_MAX: usize = 200_000;

/// The node and the input on which an outcome depends. The outcome also depends on the scenario, which is the same for
/// the whole cache.
pub struct TurnInput<N, I> {
    /// The index of the node.
    pub at: usize,
    /// The node before the input.
    pub node: Arc<N>,
    /// The input.
    pub input: I,
    /// The time of the input.
    pub time: Instant,
    /// Whether the link of the node refuses all frames.
    pub refused: bool,
}

// Two nodes are equal here only if they are the same object, because two different nodes could have equal keys. The
// entry keeps the object alive, so no other object gets its address.
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
    /// Returns the outcome of an input from the cache, or runs the state machine with the input.
    pub fn outcome(
        &self,
        turn_input: TurnInput<N, I>,
        run: impl FnOnce(&TurnInput<N, I>) -> O,
    ) -> Arc<O> {
        // The state machine runs while the lock is free, so that a panic does not poison the lock.
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = known().get(&turn_input) {
            return Arc::clone(outcome);
        }
        let outcome = Arc::new(run(&turn_input));
        let mut known = known();
        if known.len() == CACHE_ENTRIES_MAX {
            known.clear();
        }
        known.insert(turn_input, Arc::clone(&outcome));
        outcome
    }
}
