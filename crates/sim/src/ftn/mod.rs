//! FTN in a simulated world: servers and clients together on a network of datagrams.
//!
//! [`run`] is a whole run: faults first, then the recovery from them. Servers and clients are the machines that
//! ship, each pumped by the [`Driver`](ring_runtime::driver::Driver) of the programs, turn by turn. What is checked
//! after every event, and what must be so in the end, are the promises of `docs/ftn.md`, section 7.

mod apply;
mod checks;
mod exempt;
mod generate;
mod node;
mod notation;
mod outcome;
mod plan;
mod program;
mod recovery;
mod register;
mod run;
mod service;
mod settings;
mod stranger;
mod world;

pub use outcome::{Excuse, Outcome, Rule, Stats, Violation};
pub use plan::{Action, Fault, Schedule};
pub use run::run;
pub use settings::{FaultKind, Faults, Settings};

pub use super::kernel::run::replay;
