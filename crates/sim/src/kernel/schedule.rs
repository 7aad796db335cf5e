//! A run written down, as far as the kernel knows it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::stats::Tally;

/// No time of a schedule is longer.
pub const MAX_TIME_US: u64 = 365 * 24 * 60 * 60 * 1_000_000;

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
    fn nodes_mut(&mut self) -> Vec<&mut usize>;

    /// The groups that it names, one for each node.
    fn groups_mut(&mut self) -> Option<&mut Vec<u8>>;

    /// Returns the fault that ends this one.
    fn end(&self) -> Self;

    /// Takes a node out; those above it are numbered anew. `false`: the fault names it, and goes with it.
    fn take_out(&mut self, gone: usize) -> bool {
        if let Some(groups) = self.groups_mut().filter(|groups| gone < groups.len()) {
            groups.remove(gone);
        }
        let mut named = self.nodes_mut().into_iter();
        named.all(|node| stays(node, gone))
    }

    /// Whether all nodes that it names are among so many.
    fn is_among(&self, nodes: usize) -> bool {
        self.clone().nodes_mut().iter().all(|node| **node < nodes)
    }
}

/// Declares faults. Brackets have the fields that name nodes, numbers unless a type says otherwise; `groups` is before a
/// field that has the group of each node; braces have the other fields. An arrow leads to the fault
/// that ends this one; without an arrow the same fault ends it, with all fields at zero that name no nodes.
macro_rules! declare_faults {
    (@node) => { usize };
    (@node $ty:ty) => { $ty };
    (@end $end:expr; $at_rest:expr) => { $end };
    (@end; $at_rest:expr) => { $at_rest };
    (
        $(#[$meta:meta])*
        $name:ident {
            $(
                $(#[$doc:meta])*
                $variant:ident [$($node:ident $(: $node_ty:ty)?),*]
                $(groups $groups:ident)?
                $({ $($(#[$field_meta:meta])* $field:ident: $ty:ty),* $(,)? })?
                $(=> $end:expr)?,
            )*
        }
    ) => {
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        $(#[$meta])*
        #[allow(missing_docs, reason = "fields that say themselves what they are")]
        pub enum $name {
            $($(#[$doc])* $variant {
                $($node: $crate::kernel::schedule::declare_faults!(@node $($node_ty)?),)*
                $($groups: Vec<u8>,)?
                $($($(#[$field_meta])* $field: $ty,)*)?
            },)*
        }

        impl $crate::kernel::schedule::Fault for $name {
            fn nodes_mut(&mut self) -> Vec<&mut usize> {
                let named: Vec<Option<&mut usize>> = match self {
                    $(Self::$variant { $($node,)* .. } => vec![$($crate::kernel::schedule::NamesNode::number_mut($node)),*],)*
                };
                named.into_iter().flatten().collect()
            }

            #[allow(unreachable_patterns, reason = "most faults have no groups")]
            fn groups_mut(&mut self) -> Option<&mut Vec<u8>> {
                match self {
                    $($(Self::$variant { $groups, .. } => Some($groups),)?)*
                    _ => None,
                }
            }

            #[allow(unused_variables, reason = "most faults end without their former fields")]
            fn end(&self) -> Self {
                match self.clone() {
                    $(Self::$variant { $($node,)* $($groups,)? $($($field,)*)? } => {
                        $crate::kernel::schedule::declare_faults!(@end $($end)?; Self::$variant {
                            $($node,)*
                            $($groups: Vec::new(),)?
                            $($($field: Default::default(),)*)?
                        })
                    })*
                }
            }
        }
    };
}
pub(crate) use declare_faults;

/// A field that may name a node.
pub trait NamesNode {
    /// The node's number, if it names one.
    fn number_mut(&mut self) -> Option<&mut usize>;
}

impl NamesNode for usize {
    fn number_mut(&mut self) -> Option<&mut usize> {
        Some(self)
    }
}

impl NamesNode for Option<usize> {
    fn number_mut(&mut self) -> Option<&mut usize> {
        self.as_mut()
    }
}

fn stays(node: &mut usize, gone: usize) -> bool {
    let stays = *node != gone;
    *node -= usize::from(*node > gone);
    stays
}

/// Which nodes a schedule has.
pub trait Nodes {
    /// How many.
    fn nodes(&self) -> usize;
    /// Takes a node out, but for the lists that all schedules have; those above it are numbered anew. `false`: it stays.
    fn take_node(&mut self, node: usize) -> bool;
}

/// A system's schedule, as `declare_schedule` declares it.
pub trait Schedule: Clone + PartialEq + Nodes {
    /// What may go wrong in it.
    type Fault: Fault;
    /// What must hold.
    type Rule: Copy + Eq;
    /// What is counted.
    type Stats: Tally;

    /// What a machine that panics breaks.
    const PANIC: Self::Rule;

    /// What all schedules have.
    fn parts(&self) -> Parts<'_, Self::Fault>;
    /// The same, to change it.
    fn parts_mut(&mut self) -> PartsMut<'_, Self::Fault>;

    /// How long the faults last.
    fn time(&self) -> Duration {
        Duration::from_micros(self.parts().time_us)
    }

    /// The schedule without a node, and without the actions that name it; those above it are
    /// numbered anew. The last node stays.
    fn without(&self, node: usize) -> Self {
        let mut fewer = self.clone();
        if fewer.nodes() > 1 && fewer.take_node(node) {
            let parts = fewer.parts_mut();
            parts.stay_dead.retain_mut(|dead| stays(dead, node));
            let actions = parts.actions;
            actions.retain_mut(|action| action.fault.take_out(node));
        }
        fewer
    }
}

/// What all schedules have.
#[derive(Debug)]
pub struct Parts<'a, F> {
    /// Decides the fate of single messages.
    pub seed: u64,
    /// How long the faults last, in microseconds.
    pub time_us: u64,
    /// How long a message takes on a clear network: at least, and how much longer at most, in microseconds.
    pub latency_us: (u64, u64),
    /// What goes wrong, in order of time.
    pub actions: &'a [Action<F>],
}

/// What all schedules have, to change it.
#[derive(Debug)]
pub struct PartsMut<'a, F> {
    /// What it shows, for the reader.
    pub about: &'a mut String,
    /// How long the faults last, in microseconds.
    pub time_us: &'a mut u64,
    /// Nodes that are not started again when the faults end.
    pub stay_dead: &'a mut Vec<usize>,
    /// What goes wrong, in order of time.
    pub actions: &'a mut Vec<Action<F>>,
}

/// Declares a system's `Schedule`, a complete run as it is replayed, shrunk and kept in a file: what all have, and what
/// only this one has, in the order of the file. `Fault`, `Rule` and `Stats` are the caller's.
macro_rules! declare_schedule {
    (
        $(#[$meta:meta])*
        nodes { $($nodes:tt)* }
        own { $($own:tt)* }
        last { $($last:tt)* }
    ) => {
        /// Something that goes wrong, or is wanted, at a time.
        pub type Action = $crate::kernel::schedule::Action<Fault>;

        /// A complete run, as it is replayed, shrunk and kept in a file. Times are in microseconds of the world's time. Nodes
        /// are numbered from 0.
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Schedule {
            /// What it shows, for the reader.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            pub about: String,
            /// Decides the fate of single messages.
            pub seed: u64,
            $($nodes)*
            /// How long the faults last.
            pub time_us: u64,
            $($own)*
            /// How long a message takes on a clear network: at least, and how much longer at most.
            pub latency_us: (u64, u64),
            /// Nodes that are not started again when the faults end, if they are dead by then.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub stay_dead: Vec<usize>,
            $($last)*
            /// What goes wrong, in order of time.
            pub actions: Vec<Action>,
        }

        impl $crate::kernel::schedule::Schedule for Schedule {
            type Fault = Fault;
            type Rule = Rule;
            type Stats = Stats;

            const PANIC: Rule = Rule::Panic;

            fn parts(&self) -> $crate::kernel::schedule::Parts<'_, Fault> {
                $crate::kernel::schedule::Parts {
                    seed: self.seed,
                    time_us: self.time_us,
                    latency_us: self.latency_us,
                    actions: &self.actions,
                }
            }

            fn parts_mut(&mut self) -> $crate::kernel::schedule::PartsMut<'_, Fault> {
                $crate::kernel::schedule::PartsMut {
                    about: &mut self.about,
                    time_us: &mut self.time_us,
                    stay_dead: &mut self.stay_dead,
                    actions: &mut self.actions,
                }
            }
        }
    };
}
pub(crate) use declare_schedule;
