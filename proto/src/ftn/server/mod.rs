//! A server of the token service, as a pure state machine (`docs/ftn.md`).
//!
//! [`Server`] is a [`Machine`](crate::Machine) on datagrams. What it is started with are [`Options`]; what it
//! tells are [`Event`]s and [`Counters`]; what it shows is a [`Snapshot`].
//!
//! | folder | holds |
//! |---|---|
//! | `machine` | the machine: it owns the parts below, tells each what happens, and does what follows |
//! | `group` | who leads, the configuration and how far its number may move, and the options of other servers |
//! | `sessions` | the sessions of the group, and their ids |
//! | `tokens` | the tokens: who holds each, who waits for it, and what finds them |
//! | `knowledge` | which tokens the server knows: surveys, what clients claim, and handing over |
//! | `output` | datagrams, events and counters |
//!
//! No part uses another part. The files next to the folders define types that all parts share.

mod command;
mod event;
mod group;
mod holding;
mod knowledge;
mod machine;
mod options;
mod output;
mod reason;
mod sessions;
mod standing;
#[cfg(test)]
mod tests;
mod tokens;

pub use command::{Command, Durable, Net};
pub use event::Event;
pub use holding::Holding;
pub use machine::{LEAVING_MAX, Server, Snapshot, TokenStatus};
pub use options::{
    Difference, Options, OptionsError, PARTY_BYTES, QUEUE_BYTES, SESSION_BYTES, Setting,
    TOKEN_BYTES, WAIT_BYTES, majority, most_clients, session_bytes,
};
pub use output::Counters;
pub use reason::Reason;
pub use standing::{RoleKind, Standing};
