//! Simulations of Jitterbug: the nodes of a segment, with datagrams and connections.
//!
//! [`run`] makes a whole run: first the faults, then the recovery. The nodes run their real state machine in the
//! [`Driver`](ring_runtime::driver::Driver) of the daemon. The checks verify the promises of
//! `docs/jitterbug/protocol/promises.md`.

mod apply;
mod attacker;
mod bounds;
mod checks;
#[cfg(test)]
mod connection_tests;
mod data;
mod events;
mod exemptions;
mod generate;
mod node;
mod node_checks;
mod notation;
mod outcome;
mod programs;
mod recovery;
mod run;
mod schedule;
mod settings;
mod stranger;
mod system;
mod tokens;
mod world;

pub use outcome::{Excuse, Outcome, Rule, Stats, Violation};
pub use run::run;
pub use schedule::{Action, Fault, MAX_NODES, Schedule};
pub use settings::{FaultKind, Faults, Settings};

pub use super::kernel::run::replay;
