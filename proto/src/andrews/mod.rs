//! A node of the coordinated ring as a pure state machine (`docs/board/protocol/README.md`). The node's protocol is the
//! protocol of the Andrews document.
//!
//! [`Andrews`] is a [`Machine`](crate::Machine) on datagrams and connections. The state machine starts with [`Options`]
//! and a [`NodeList`]. It outputs transactions for the database as [`Job`]s. The outcomes of jobs and the requests of
//! clients arrive as [`Command`]s. The node reports [`Event`]s and [`Counters`], and its status is a [`Snapshot`]. The
//! state machine has no clock, no sockets and no database. Start reading in `machine/mod.rs`.
//!
//! | folder | holds |
//! |---|---|
//! | `machine` | the state machine: it owns the parts below and connects them |
//! | `database` | the state of the database, its jobs, and the rows that were read last |
//! | `ring` | the place of the node in the ring: its state, its connections, its requests to the coordinator |
//! | `token` | the token, and the requests that wait for it |
//! | `coordinator` | the duties of a coordinator |
//! | `election` | the three methods of election |
//! | `diagnostics` | values that people read; the state machine bases no decision on them |
//!
//! No part uses another part. The files next to the folders define the types that several parts use.

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

pub use command::{Command, Request, RequestAnswer};
pub use counters::Counters;
pub use diagnostics::{ElectionStatus, Neighbor, NodeSummary, Snapshot, TokenStatus};
pub use event::{Event, SuccessorLoss};
pub use machine::{Andrews, SocketsBound};
pub use nodes::{ListError, NodeList};
pub use options::{Options, OptionsError};
pub use reason::Reason;
pub use state::{DatabaseState, State};
pub use work::{Change, CoordinatorRow, Job, Outcome, Rows, Work, Write};
