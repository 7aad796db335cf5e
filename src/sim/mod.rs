//! A deterministic world: virtual time, links with faults, and the machines that ship.
//!
//! Nothing here reads a clock, draws randomness that does not come from the seed, or starts a
//! thread: the same seed makes the same run, to the byte. (`command` does, around the world.)
//!
//! [`run`] is a whole run: faults first, then the recovery from them. A [`World`] is the same under
//! the caller's control. Every node is pumped by the [`Driver`](crate::driver::Driver) of the
//! daemon, turn by turn.

mod apply;
mod checks;
mod clock;
pub mod command;
mod dead;
mod exempt;
mod generate;
mod lease;
mod life;
mod liveness;
mod node;
mod once;
mod outcome;
mod plan;
mod queue;
mod quorum;
mod record;
mod rng;
mod run;
mod segment;
mod settings;
mod shrink;
mod story;
mod stranger;
mod subject;
mod unresponsive;
mod view;
mod words;
mod world;

pub use outcome::{MAX_VIOLATIONS, Outcome, Rule, Stats, Violation};
pub use plan::{Action, Fault, Schedule};
pub use record::Record;
pub use run::{replay, run};
pub use segment::Weather;
pub use settings::{FaultKind, Faults, Settings};
pub use shrink::shrink;
pub use story::Story;
pub use subject::Subject;
pub use words::{line, mac, name, node_of, show};
pub use world::World;
