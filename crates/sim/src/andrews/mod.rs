//! The coordinated ring in a simulated world: its nodes, on datagrams and connections, and the database that they share.
//!
//! [`run`] is a whole run: faults first, then the recovery from them. The nodes run the machine that ships, pumped by
//! the [`Driver`](ring_runtime::driver::Driver) of the programs, turn by turn. The database is a service: its transactions keep
//! the rules of `docs/board.md`, section 7, and what is told of them comes late, never, twice or without an outcome. What is
//! checked after every event, and what must be so in the end, are the promises of section 12.

mod apply;
mod bounds;
mod circle;
mod clients;
mod generate;
mod judge;
mod node;
mod notation;
mod outcome;
mod plan;
mod recovery;
mod run;
mod service;
mod settings;
mod stranger;
mod tables;
mod told;
mod world;

pub use outcome::{Excuse, Outcome, Rule, Stats, Violation};
pub use plan::{Action, Fault, MAX_NODES, Schedule};
pub use run::run;
pub use settings::{FaultKind, Faults, Settings};

pub use super::kernel::run::replay;
