//! A server of the token service, as a pure state machine (`docs/ftn.md`).
//!
//! [`Server`] is a [`Machine`](crate::Machine) on datagrams. What it is started with are [`Options`]; what it
//! tells are [`Event`]s and [`Counters`]; what it shows is a [`Snapshot`].
//!
//! | files | what |
//! |---|---|
//! | `machine`, `input`, `outbox`, `storage` | what comes in and goes out |
//! | `invariants` | what must hold after each input |
//! | `role`, `election`, `leader`, `rounds`, `follower`, `state_message`, `view`, `numbers` | who leads, and the configuration |
//! | `terms` | options that must be equal on all servers |
//! | `login`, `sessions`, `pending`, `draw` | sessions |
//! | `serving`, `survey`, `claims`, `transfer`, `parts` | which tokens the server knows, and how it comes to know others |
//! | `leaving` | its orderly shutdown |
//! | `tokens`, `token`, `parties`, `order`, `memory` | the tokens and what they take |
//! | `request`, `returns`, `listing` | what clients ask |

mod claims;
mod command;
mod counters;
mod draw;
mod election;
mod event;
mod follower;
mod holding;
mod input;
#[cfg(debug_assertions)]
mod invariants;
mod leader;
mod leaving;
mod listing;
mod login;
mod machine;
mod memory;
mod numbers;
mod options;
mod order;
mod outbox;
mod parties;
mod parts;
mod pending;
mod reason;
mod request;
mod returns;
mod role;
mod rounds;
mod serving;
mod sessions;
mod state_message;
mod status;
mod storage;
mod survey;
mod terms;
#[cfg(test)]
mod tests;
mod token;
mod tokens;
mod transfer;
mod view;

pub use command::{Command, Durable, Net};
pub use counters::Counters;
pub use event::Event;
pub use holding::Holding;
pub use leaving::LEAVING_MAX;
pub use machine::Server;
pub use options::{
    Options, OptionsError, PARTY_BYTES, QUEUE_BYTES, SESSION_BYTES, TOKEN_BYTES, WAIT_BYTES,
    majority, most_clients, session_bytes,
};
pub use reason::Reason;
pub use status::{RoleKind, Snapshot, Standing, TokenStatus};
pub use terms::{Difference, Setting};
