//! A node of a Jitterbug ring, as a pure state machine (`docs/jitterbug.md`).
//!
//! [`Jitterbug`] is a [`Machine`](crate::Machine) on datagrams and connections. What it is started with are
//! [`Options`]; what it is told of its network is [`Net`]; what it tells are [`Event`]s and [`Counters`]; what it shows
//! is a [`Snapshot`].
//!
//! | folder | holds |
//! |---|---|
//! | `machine` | the machine: it owns the parts below, tells each what happens, and does what follows; what comes in and goes out |
//! | `role` | the three states, with what ends with each: a restore, a leader's turn and its pass |
//! | `tokens` | ids, how strong tokens are, and which were announced, given away and followed |
//! | `inbound` | the tokens that others give, as they come |
//! | `nodes` | the lists of nodes, and what is known of each: its terms, its penalty, its ring |
//! | `data` | the data, how it goes on, and the job in hand |
//!
//! No part uses another part. The files next to the folders define types that all parts share: options, commands, events.

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
pub use event::{Acceptance, Difference, Event, Failure};
pub use machine::Jitterbug;
pub use network::{Net, Network};
pub use options::{Compute, Decide, LEAST_LEASE, MOST_LEASE, Options, OptionsError};
pub use reason::Reason;
pub use status::{NodeStatus, Snapshot, Standing, State};
