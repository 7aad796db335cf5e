//! Simulations of the coordinated ring: its nodes, with datagrams and connections, and their database.
//!
//! [`run`] makes a whole run: first the faults, then the recovery. The nodes run their real state machine in the
//! [`Driver`](ring_runtime::driver::Driver) of the daemon. A model replaces the database. Its transactions follow the
//! rules of `docs/board/protocol/database.md`, rules D. An answer of the database may be late, missing, repeated or
//! unknown. The checks verify the promises (`promises.md`).

mod apply;
mod attacker;
mod bounds;
mod clients;
mod database;
mod events;
mod generate;
mod node;
mod node_checks;
mod notation;
mod outcome;
mod recovery;
mod run;
mod schedule;
mod settings;
mod stranger;
mod system;
mod tables;
mod world;

pub use outcome::{Excuse, Outcome, Rule, Stats, Violation};
pub use run::run;
pub use schedule::{Action, Fault, MAX_NODES, Schedule};
pub use settings::{FaultKind, Faults, Settings};

pub use super::kernel::run::replay;
