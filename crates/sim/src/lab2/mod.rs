//! Simulations of Lab2: several nodes on one Ethernet segment.
//!
//! [`run`] makes a whole run: first the faults, then the recovery. A [`World`] is a simulation that its caller
//! controls. Every node runs the daemon's [`Driver`](ring_runtime::driver::Driver).

mod apply;
mod attacker;
mod checks;
mod dead_stations;
mod exemptions;
mod frame_token;
mod generate;
mod guardian;
mod jobs;
mod lease;
mod liveness;
mod lock_liveness;
mod lock_records;
mod named_locks;
mod node;
mod notation;
mod outcome;
mod process;
mod queries;
mod quorum;
mod quorum_work;
mod recorder;
mod run;
mod schedule;
mod settings;
mod stranger;
mod surveys;
mod system;
mod trace;
mod unresponsive_station;
mod world;

pub use notation::{line, mac, name, node_of};
pub use outcome::{Outcome, Rule, Stats, Violation};
pub use recorder::Recorder;
pub use run::{replay, run};
pub use schedule::{Action, Fault, Schedule};
pub use settings::{FaultKind, Faults, Settings};
pub use system::World;
pub use trace::Trace;

pub use super::kernel::conditions::NetworkConditions;
pub use ring_proto::lab2::Inspect;
