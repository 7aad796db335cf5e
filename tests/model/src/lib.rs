#![forbid(unsafe_code)]
//! Every order of events in a small ring, checked: the machines that ship, run by a model checker.
//!
//! A state is the nodes, each with its machine, its clock and what it has stored, and the frames
//! under way. Any frame may arrive next, be lost or doubled; any node's time-out may come next; a
//! node may crash and start again, its link may refuse frames, its process may be stopped; the
//! segment may fall apart. How often, a [`Scenario`] says. Each node has a clock of its own that jumps to its next time-out
//! when that comes; a frame that arrives finds it where it is. So clocks run at any speed, and
//! nothing but the machines' public contract is used.
//!
//! States that differ only in the time of day are one state: see [`Snapshot`].
//!
//! In every step the rules of `docs/protocol.md` are checked that a [`Breach`] lists. From many
//! states the faults end and a fair run begins, in which invariants 2, 3 and 5 must be reached
//! ([`fair`]).

pub mod digest;
pub mod fair;
pub mod ftn;
pub mod recoveries;
pub mod report;
pub mod turns;

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
pub use explore::{Exploration, explore, explore_shipping};
pub use findings::Findings;
pub use machine::Snapshot;
pub use node::Trouble;
pub use report::Report;
pub use scenario::{Bounds, Faults, Scenario, Start, Timing, small_constants};
pub use scenarios::{large, quorums_of_four, quorums_of_three, small};
pub use state::Ring;
