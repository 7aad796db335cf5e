#![forbid(unsafe_code)]
//! Checks every order of events in a small ring: a model checker runs the real state machines.
//!
//! A state has the nodes, each with its state machine, its clock and its stored state, and the frames under way.
//! Any frame may arrive next, be lost or duplicated, and any timeout may fire next. A node may crash and start
//! again, its link may refuse frames, its process may stall, and the segment may split. A [`Scenario`] bounds these
//! faults. Each node has its own clock, which jumps to its next timeout when that fires, so clocks run at any
//! speed. The checker only uses the public interface of the state machines.
//!
//! States that differ only in the time of day are equal: see [`Snapshot`].
//!
//! Every step is checked by the rules that a [`Breach`] lists. From selected states the faults end, and a fair run
//! must reach invariants 2, 3 and 5 of `docs/protocol.md` ([`fair`]).

pub mod digest;
pub mod fair;
pub mod ftn;
pub mod recoveries;
pub mod report;
pub mod turn_cache;

mod action;
mod breach;
mod counts;
mod explore;
mod findings;
mod judge;
mod machine;
mod node;
mod notation;
mod outcome;
mod scenario;
mod scenarios;
mod sides;
mod state;

pub use action::Action;
pub use breach::Breach;
pub use explore::{RingModel, exploration, explore, explore_shipping};
pub use findings::Findings;
pub use machine::Snapshot;
pub use node::Trouble;
pub use report::{Exploration, Report};
pub use scenario::{Bounds, Faults, Scenario, Start, Timing, small_constants};
pub use scenarios::{large, quorums_of_four, quorums_of_three, small};
pub use state::Ring;
