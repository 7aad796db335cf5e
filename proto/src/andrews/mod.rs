//! A node of the coordinated ring of the Andrews document, as a pure state machine (`docs/board.md`).
//!
//! [`Andrews`] is a [`Machine`](crate::Machine) on datagrams and connections. What it is started with are [`Options`] and
//! a [`NodeList`]; what it has done at the database are [`Job`]s, whose outcomes are [`Command`]s; what it tells are
//! [`Event`]s and [`Counters`]; what it shows is a [`Snapshot`].
//!
//! | folder | holds |
//! |---|---|
//! | `machine` | the machine: it owns the parts below, tells each what happens, and does what follows |
//! | `database` | whether the database answers, its jobs, and the rows as they were read last |
//! | `ring` | the place of the node in the ring: its state, its connections, its requests to the coordinator |
//! | `token` | the token, and the requests that wait for it |
//! | `coordinator` | the duties of a coordinator |
//! | `election` | the three methods of election |
//! | `diagnostics` | what people are told; it decides nothing |
//!
//! No part uses another part. The files next to the folders define types that all parts share.

mod command;
mod coordinator;
mod counters;
mod database;
mod diagnostics;
mod election;
mod event;
mod machine;
mod message;
mod nodes;
mod options;
mod reason;
mod ring;
mod state;
mod token;
mod work;

#[cfg(test)]
mod tests;

pub use command::{Answer, Command, Request};
pub use counters::Counters;
pub use diagnostics::{ElectionStatus, Snapshot, Standing, TokenStatus};
pub use event::{Event, Loss};
pub use machine::{Andrews, Listening};
pub use nodes::{ListError, NodeList};
pub use options::{Options, OptionsError};
pub use reason::Reason;
pub use state::{DatabaseState, State};
pub use work::{Change, Job, Outcome, Rows, Seat, Work, Write};
