//! Simulations of FTN: servers and clients on a network of datagrams.
//!
//! [`run`] makes a whole run: first the faults, then the recovery. Servers and clients run their real state machines in
//! the [`Driver`](ring_runtime::driver::Driver) of the daemon. The checks verify the promises of
//! `docs/token-service/protocol/promises.md`.

mod apply;
mod attacker;
mod attacking_client;
mod checks;
mod client_keys;
mod exemptions;
mod generate;
mod node;
mod notation;
mod outcome;
mod program;
mod recovery;
mod run;
mod schedule;
mod settings;
mod stranger;
mod system;
mod update_log;
mod world;

pub use client_keys::ClientNames;
pub use outcome::{Excuse, Outcome, Rule, Stats, Violation};
pub use run::run;
pub use schedule::{Action, Fault, Schedule};
pub use settings::{FaultKind, Faults, Settings};

pub use super::kernel::run::replay;
