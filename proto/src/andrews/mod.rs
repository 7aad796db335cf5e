//! A node of the coordinated ring of the Andrews document, as a pure state machine (`docs/board.md`).
//!
//! [`Andrews`] is a [`Machine`](crate::Machine) on datagrams and connections. What it is started with are [`Options`] and
//! a [`NodeList`]; what it has done at the database are [`Job`]s, whose outcomes are [`Command`]s; what it tells are
//! [`Event`]s and [`Counters`]; what it shows is a [`Snapshot`].
//!
//! | files | what |
//! |---|---|
//! | `machine`, `datagrams`, `streams`, `connections`, `leaving`, `outbox`, `message`, `frames`, `unsent` | what comes in and goes out |
//! | `database`, `view`, `looking`, `writing`, `outcomes` | the rows: read, decided on, written |
//! | `strangers` | nodes that the list does not have |
//! | `role`, `link`, `plea`, `inbound`, `succession`, `recovery` | a node's place in the ring, and how it gets and keeps it |
//! | `office`, `coordinating` | what a coordinator does |
//! | `token`, `requests`, `using` | the token and what is done with it |
//! | `election`, `electing` | elections |

mod command;
mod connections;
mod coordinating;
mod counters;
mod database;
mod datagrams;
mod electing;
mod election;
mod event;
mod frames;
mod inbound;
#[cfg(debug_assertions)]
mod invariants;
mod leaving;
mod link;
mod looking;
mod machine;
mod message;
mod nodes;
mod office;
mod options;
mod outbox;
mod outcomes;
mod plea;
mod reason;
mod recovery;
mod requests;
mod role;
mod status;
mod strangers;
mod streams;
mod succession;
#[cfg(test)]
mod tests;
mod token;
mod unsent;
mod using;
mod view;
mod work;
mod writing;

pub use command::{Answer, Command, Request};
pub use counters::Counters;
pub use database::DatabaseState;
pub use event::{Event, Loss};
pub use machine::{Andrews, Listening};
pub use nodes::{ListError, NodeList};
pub use options::{Options, OptionsError};
pub use reason::Reason;
pub use role::State;
pub use status::{ElectionStatus, Snapshot, Standing, TokenStatus};
pub use work::{Change, Job, Outcome, Rows, Seat, Work, Write};
