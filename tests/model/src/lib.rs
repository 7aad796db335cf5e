#![forbid(unsafe_code)]
//! Checks every order of events in a small ring. A model checker runs the real state machines.
//!
//! A state consists of the nodes and the frames under way. Each node has its state machine, its clock and its stored
//! state. The next event may be any timeout, or the arrival, loss or duplication of any frame. A node may crash and
//! start again, its link may refuse frames, its process may stall, and the segment may split. A [`Scenario`] bounds
//! these faults. Each node has its own clock. When a timeout of the node fires, the clock jumps to the time of this
//! timeout, so clocks run at any speed. The checker uses only the public interface of the state machines.
//!
//! States that differ only in the time of day are equal: see [`Snapshot`].
//!
//! Runs with named locks last longer than a lease, so they have many events. Their scenarios have two reductions: a
//! node sends the frames about locks at once, and most scenarios deliver frames in order (`in_order` of a scenario).
//!
//! The checker compares every step with the rules that [`Breach`] lists. From selected states a run without further
//! faults begins. In this run the ring must reach promises 2, 3 and 5 of `docs/reference/lab2/promises.md` ([`fair`]).

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
mod lock_scenarios;
mod machine;
mod named_locks;
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
pub use named_locks::{LockPlan, LockTake};
pub use node::Trouble;
pub use report::{Exploration, Report};
pub use scenario::{Bounds, Faults, Scenario, Start, Timing, small_constants};
pub use scenarios::{large, quorums_of_four, quorums_of_three, small};
pub use state::Ring;
