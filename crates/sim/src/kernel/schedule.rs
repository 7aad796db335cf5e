//! The kernel's view of a schedule. A schedule is a run as data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::keys::NodeKeys;
use super::stats::Tally;

/// The maximum of all times in a schedule.
pub const MAX_TIME_US: u64 = 365 * 24 * 60 * 60 * 1_000_000;

/// A fault or a user action, and its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action<F> {
    /// The time from the start, in microseconds.
    pub at_us: u64,
    /// The fault or action.
    #[serde(flatten)]
    pub fault: F,
}

/// A fault of a schedule.
pub trait FaultFields: Clone {
    /// Returns the nodes in the fault's fields.
    fn nodes_mut(&mut self) -> Vec<&mut usize>;

    /// Returns the group of each node, if the fault has groups.
    fn groups_mut(&mut self) -> Option<&mut Vec<u8>>;

    /// Returns the fault that ends this fault.
    fn end(&self) -> Self;

    /// Whether the fault changes the keys of a node.
    fn gives_keys(&self) -> bool {
        false
    }

    /// Removes a node and renumbers the nodes with higher numbers. Returns `false` if the fault names the node, so that
    /// the fault must be removed too.
    fn take_out(&mut self, gone: usize) -> bool {
        if let Some(groups) = self.groups_mut().filter(|groups| gone < groups.len()) {
            groups.remove(gone);
        }
        let mut named = self.nodes_mut().into_iter();
        named.all(|node| renumber(node, gone))
    }

    /// Whether the number of each node that the fault names is below `nodes`.
    fn is_among(&self, nodes: usize) -> bool {
        self.clone().nodes_mut().iter().all(|node| **node < nodes)
    }
}

/// Declares faults. Brackets contain the fields that name nodes. The fields in brackets are numbers, unless a type is
/// given. A field after `groups` contains the group of each node. Braces contain the other fields. An arrow stands
/// before the fault that ends the declared fault. Without an arrow, the fault that ends the declared fault has the same
/// name and the same nodes. The other fields of this ending fault are zero.
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
        #[allow(missing_docs, reason = "the names of the fields explain them")]
        pub enum $name {
            $($(#[$doc])* $variant {
                $($node: $crate::kernel::schedule::declare_faults!(@node $($node_ty)?),)*
                $($groups: Vec<u8>,)?
                $($($(#[$field_meta])* $field: $ty,)*)?
            },)*
        }

        impl $crate::kernel::schedule::FaultFields for $name {
            fn nodes_mut(&mut self) -> Vec<&mut usize> {
                let named: Vec<Option<&mut usize>> = match self {
                    $(Self::$variant { $($node,)* .. } => vec![
                        $($crate::kernel::schedule::NamesNode::number_mut($node)),*
                    ],)*
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
    /// Returns the node's number, if the field names a node.
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

fn renumber(node: &mut usize, gone: usize) -> bool {
    let stays = *node != gone;
    *node -= usize::from(*node > gone);
    stays
}

/// The nodes of a schedule.
pub trait Nodes {
    /// Returns the number of nodes.
    fn nodes(&self) -> usize;
    /// Removes a node and renumbers the nodes with higher numbers. Does not change the lists that exist in all
    /// schedules. Returns `false` if the node must stay.
    fn take_node(&mut self, node: usize) -> bool;
}

/// A system's schedule, as `declare_schedule` declares it.
pub trait Schedule: Clone + PartialEq + Nodes {
    /// The system's faults.
    type Fault: FaultFields;
    /// The rules that are checked.
    type Rule: Copy + Eq;
    /// The system's counters.
    type Stats: Tally;

    /// The rule that counts as broken when the state machine panics.
    const PANIC: Self::Rule;

    /// Returns the parts that exist in all schedules.
    fn parts(&self) -> Parts<'_, Self::Fault>;
    /// Returns the parts that exist in all schedules, in a form that the caller can change.
    fn parts_mut(&mut self) -> PartsMut<'_, Self::Fault>;

    /// Checks that all values are within the simulator's limits.
    ///
    /// # Errors
    /// Returns the reason if a value is not within the limits.
    fn check(&self) -> Result<(), String>;

    /// Whether any node has keys at any time of the run.
    fn has_keys(&self) -> bool {
        let parts = self.parts();
        !parts.keys.is_empty() || parts.actions.iter().any(|action| action.fault.gives_keys())
    }

    /// Returns the duration of the faults.
    fn time(&self) -> Duration {
        Duration::from_micros(self.parts().time_us)
    }

    /// Returns a copy of the schedule without a node and without the actions that name this node. Renumbers the nodes
    /// with higher numbers. The last node stays.
    fn without(&self, node: usize) -> Self {
        let mut fewer = self.clone();
        if fewer.nodes() > 1 && fewer.take_node(node) {
            let parts = fewer.parts_mut();
            parts.stay_dead.retain_mut(|dead| renumber(dead, node));
            let actions = parts.actions;
            actions.retain_mut(|action| action.fault.take_out(node));
        }
        fewer
    }
}

/// The parts that exist in all schedules.
#[derive(Debug)]
pub struct Parts<'a, F> {
    /// The seed of the effects on single messages.
    pub seed: u64,
    /// The duration of the faults, in microseconds.
    pub time_us: u64,
    /// The minimum latency of a message without faults, and the maximum random addition to this latency, in
    /// microseconds.
    pub latency_us: (u64, u64),
    /// The keys of all nodes at the start.
    pub keys: &'a NodeKeys,
    /// The faults and actions, in order of time.
    pub actions: &'a [Action<F>],
}

/// The parts that exist in all schedules, in a form that the caller can change.
#[derive(Debug)]
pub struct PartsMut<'a, F> {
    /// A description for readers.
    pub about: &'a mut String,
    /// The duration of the faults, in microseconds.
    pub time_us: &'a mut u64,
    /// Nodes that are not started again when the faults end.
    pub stay_dead: &'a mut Vec<usize>,
    /// The faults and actions, in order of time.
    pub actions: &'a mut Vec<Action<F>>,
}

/// Declares a system's `Schedule`, a complete run that can be replayed, shrunk and kept in a file. The schedule has the
/// fields that all schedules have, and the fields of the system. The fields have this order in the file. The caller
/// defines `Fault`, `Rule` and `Stats`.
macro_rules! declare_schedule {
    (
        $(#[$meta:meta])*
        nodes { $($nodes:tt)* }
        own { $($own:tt)* }
        last { $($last:tt)* }
    ) => {
        /// A fault or a user action, and its time.
        pub type Action = $crate::kernel::schedule::Action<Fault>;

        /// A complete run, to be replayed, shrunk and kept in a file. Times are simulated, in microseconds. Nodes are
        /// numbered from 0.
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Schedule {
            /// A description for readers.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            pub about: String,
            /// The seed of the effects on single messages.
            pub seed: u64,
            $($nodes)*
            /// The duration of the faults.
            pub time_us: u64,
            $($own)*
            /// The minimum latency of a message without faults, and the maximum random addition to this latency.
            pub latency_us: (u64, u64),
            /// The keys of all nodes at the start.
            #[serde(default, skip_serializing_if = "crate::kernel::keys::NodeKeys::is_empty")]
            pub keys: $crate::kernel::keys::NodeKeys,
            /// Nodes that are dead when the faults end and are not started again.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub stay_dead: Vec<usize>,
            $($last)*
            /// The faults and actions, in order of time.
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
                    keys: &self.keys,
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

            // The caller's inherent method has precedence over this one.
            fn check(&self) -> Result<(), String> {
                self.check()
            }
        }
    };
}
pub(crate) use declare_schedule;
