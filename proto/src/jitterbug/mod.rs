//! A node of a Jitterbug ring as a pure state machine (`docs/jitterbug/protocol/`).
//!
//! [`Jitterbug`] is a [`Machine`](crate::Machine) on datagrams and connections. It starts with [`Options`]. The inputs
//! of the machine are the state of its network ([`NetworkState`]) and [`Command`]s. The node reports [`Event`]s and
//! [`Counters`], and its status is a [`Snapshot`]. The node has no clock, no sockets and no files. Start reading in
//! `machine/mod.rs`.
//!
//! | folder | holds |
//! |---|---|
//! | `machine` | the state machine: it owns the parts below and connects them |
//! | `role` | the three states with their data: a restore, a leader's turn and its pass |
//! | `tokens` | ids, the strength of tokens, and the memory of announced, passed and followed tokens |
//! | `inbound` | the exchanges in which other nodes give their tokens |
//! | `nodes` | the lists of nodes, and the terms, the penalty and the ring of each node |
//! | `data` | the data, its decisions and computations, and the running job |
//!
//! No part uses another part. The files next to the folders define types that all parts share, such as options and
//! events.

mod command;
mod counters;
mod data;
mod event;
mod inbound;
mod machine;
mod network;
mod nodes;
mod options;
pub mod policy;
mod reason;
mod role;
mod status;
mod terms;
#[cfg(test)]
mod tests;
mod tokens;

pub use command::{Command, Job, Outcome, Work};
pub use counters::Counters;
pub use event::{Acceptance, Difference, Event, PassFailure};
pub use machine::Jitterbug;
pub use network::{Network, NetworkState};
pub use options::{Compute, Decide, LEASE_MAX, LEASE_MIN, Options, OptionsError};
pub use reason::Reason;
pub use status::{NodeStatus, NodeSummary, Snapshot, State};
