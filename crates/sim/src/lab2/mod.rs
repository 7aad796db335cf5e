//! Lab2 in a simulated world: several machines on one Ethernet segment.
//!
//! [`run`] is a whole run: faults first, then the recovery from them. A [`World`] is the same under
//! the caller's control. Every node is pumped by the [`Driver`](ring_runtime::driver::Driver) of the
//! daemon, turn by turn.

mod apply;
mod checks;
mod claim;
mod confirm;
mod dead;
mod exempt;
mod generate;
mod lease;
mod life;
mod liveness;
mod node;
mod notation;
mod once;
mod outcome;
mod plan;
mod quorum;
mod record;
mod ring;
mod run;
mod settings;
mod stranger;
mod trace;
mod unresponsive;
mod view;
mod world;

pub use notation::{line, mac, name, node_of};
pub use outcome::{Outcome, Rule, Stats, Violation};
pub use plan::{Action, Fault, Schedule};
pub use record::Record;
pub use ring::World;
pub use run::{replay, run};
pub use settings::{FaultKind, Faults, Settings};
pub use trace::Trace;

pub use super::kernel::network::Weather;
pub use ring_proto::lab2::Subject;
