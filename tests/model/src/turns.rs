//! Turns that nodes have taken. Many orders of events lead one node through the same turns, and a
//! machine is pure: what is known is not run again.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Token};
use ring_proto::time::Instant;

use crate::breach::Breach;
use crate::judge::Step;
use crate::node::{Input, Node, Turn};
use crate::scenario::Scenario;

/// Entries until all are dropped: some hundred MB in a run that goes deep.
const MAX_KNOWN: usize = 200_000;

/// What follows when a node is told something, whatever the rest of the ring is like.
pub struct Outcome {
    /// The node.
    pub node: Arc<Node>,
    /// The frames that have left, in order, each with whom it is for.
    pub said: Vec<(MacAddr, Arc<[u8]>)>,
    /// The tenure that the node has begun.
    pub begun: Option<Token>,
    /// The rule that the node has broken by itself.
    pub breach: Option<Breach>,
}

impl Outcome {
    /// Runs the machine and judges what it does.
    pub fn of(
        scenario: &Scenario,
        at: usize,
        before: &Node,
        input: &Input,
        (time, refused): (Instant, bool),
    ) -> Self {
        let turn = before.turn(scenario, at, input, time, refused);
        let step = Step {
            at,
            before,
            input,
            refused,
            turn: &turn,
        };
        let (begun, breach) = (step.begun(), step.breach(scenario));
        let Turn { node, said } = turn;
        let said = said.into_iter().filter_map(|(bytes, _)| {
            let destination = Frame::decode(&bytes).ok()?.destination;
            Some((destination, bytes.into()))
        });
        Self {
            said: said.collect(),
            node: Arc::new(node),
            begun,
            breach,
        }
    }
}

/// All that a turn depends on besides the scenario.
struct Asked {
    at: usize,
    node: Arc<Node>,
    input: Input,
    time: Instant,
    refused: bool,
}

// Two nodes are one here only if they are the same object: no machine is taken for another that
// merely has an equal key. The entry keeps the object alive, so nothing else gets its address.
impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node)
            && (self.at, self.time, self.refused) == (other.at, other.time, other.refused)
            && self.input == other.input
    }
}

impl Eq for Asked {}

impl Hash for Asked {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.node).hash(state);
        (self.at, self.time, self.refused).hash(state);
        if let Input::Frame(bytes, age) = &self.input {
            (bytes, age).hash(state);
        } else {
            mem::discriminant(&self.input).hash(state);
        }
    }
}

/// The turns of one exploration.
#[derive(Default)]
pub struct Turns {
    known: Mutex<HashMap<Asked, Arc<Outcome>>>,
}

impl Turns {
    /// What follows when a node is told something.
    pub fn outcome(
        &self,
        scenario: &Scenario,
        at: usize,
        node: &Arc<Node>,
        input: &Input,
        (time, refused): (Instant, bool),
    ) -> Arc<Outcome> {
        let asked = Asked {
            at,
            node: Arc::clone(node),
            input: input.clone(),
            time,
            refused,
        };
        // A machine that panics does so outside the lock.
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = known().get(&asked) {
            return Arc::clone(outcome);
        }
        let outcome = Arc::new(Outcome::of(scenario, at, node, input, (time, refused)));
        let mut known = known();
        if known.len() == MAX_KNOWN {
            known.clear();
        }
        known.insert(asked, Arc::clone(&outcome));
        outcome
    }
}
