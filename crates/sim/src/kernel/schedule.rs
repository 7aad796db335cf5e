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

/// What a schedule may ask for.
pub trait Fault: Clone {
    /// The nodes that it names.
    fn nodes_mut(&mut self) -> [Option<&mut usize>; 2];

    /// The groups that it names, one for each node.
    fn groups_mut(&mut self) -> Option<&mut Vec<u8>> {
        None
    }

    /// Takes a node out; those above it are numbered anew. `false`: the fault names it, and goes with it.
    fn take_out(&mut self, gone: usize) -> bool {
        if let Some(groups) = self.groups_mut().filter(|groups| gone < groups.len()) {
            groups.remove(gone);
        }
        let mut named = self.nodes_mut().into_iter().flatten();
        named.all(|node| stays(node, gone))
    }

    /// Whether all nodes that it names are among so many.
    fn is_among(&self, nodes: usize) -> bool {
        let mut fault = self.clone();
        let mut named = fault.nodes_mut().into_iter().flatten();
        named.all(|node| *node < nodes)
    }
}

/// Takes a node out of some nodes; those above it are numbered anew.
pub fn take_out(nodes: &mut Vec<usize>, gone: usize) {
    nodes.retain_mut(|node| stays(node, gone));
}

fn stays(node: &mut usize, gone: usize) -> bool {
    let stays = *node != gone;
    *node -= usize::from(*node > gone);
    stays
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
