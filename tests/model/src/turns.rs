//! Turns that nodes have taken. Many orders of events lead one node through the same turns, and a
//! machine is pure: what is known is not run again.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use ring_proto::time::Instant;

/// Entries until all are dropped: some hundred MB in a run that goes deep.
const MAX_KNOWN: usize = 200_000;

/// All that a turn depends on besides the scenario: the place of a node, the node, what it is told, when, and whether
/// its link takes nothing.
pub struct Asked<N, I> {
    /// The node's place.
    pub at: usize,
    /// The node.
    pub node: Arc<N>,
    /// What it is told.
    pub input: I,
    /// When.
    pub time: Instant,
    /// Whether its link takes nothing.
    pub refused: bool,
}

// Two nodes are one here only if they are the same object: no machine is taken for another that
// merely has an equal key. The entry keeps the object alive, so nothing else gets its address.
impl<N, I: PartialEq> PartialEq for Asked<N, I> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node)
            && (self.at, self.time, self.refused) == (other.at, other.time, other.refused)
            && self.input == other.input
    }
}

impl<N, I: Eq> Eq for Asked<N, I> {}

impl<N, I: Hash> Hash for Asked<N, I> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.node).hash(state);
        (self.at, self.time, self.refused).hash(state);
        self.input.hash(state);
    }
}

/// The turns of one exploration.
pub struct Turns<N, I, O> {
    known: Mutex<HashMap<Asked<N, I>, Arc<O>>>,
}

impl<N, I, O> Default for Turns<N, I, O> {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
        }
    }
}

impl<N, I: Hash + Eq, O> Turns<N, I, O> {
    /// What follows when a node is told something, whatever the rest of the world is like.
    pub fn outcome(&self, asked: Asked<N, I>, run: impl FnOnce(&Asked<N, I>) -> O) -> Arc<O> {
        // A machine that panics does so outside the lock.
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = known().get(&asked) {
            return Arc::clone(outcome);
        }
        let outcome = Arc::new(run(&asked));
        let mut known = known();
        if known.len() == MAX_KNOWN {
            known.clear();
        }
        known.insert(asked, Arc::clone(&outcome));
        outcome
    }
}
