//! Jitterbug in a simulated world: the nodes of a segment, on datagrams and connections.
//!
//! [`run`] is a whole run: faults first, then the recovery from them. The nodes run the machine that ships, pumped by
//! the [`Driver`](ring_runtime::driver::Driver) of the programs, turn by turn. What is checked after every event, and what
//! must be so in the end, are the promises of `docs/jitterbug.md`, section 11, "Always" and "Eventually".

mod apply;
mod bounds;
mod chain;
mod checks;
#[cfg(test)]
mod connection_tests;
mod data;
mod exempt;
mod generate;
mod judge;
mod node;
mod notation;
mod outcome;
mod plan;
mod programs;
mod recovery;
mod run;
mod segment;
mod settings;
mod stranger;
mod told;
mod world;

pub use outcome::{Excuse, Outcome, Rule, Stats, Violation};
pub use plan::{Action, Fault, MAX_NODES, Schedule};
pub use run::run;
pub use settings::{FaultKind, Faults, Settings};

pub use super::kernel::run::replay;
