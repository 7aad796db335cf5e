//! A server of the token service as a pure state machine (`docs/token-service/protocol/README.md`).
//!
//! [`Server`] is a [`Machine`](crate::Machine) on datagrams. The server starts with [`Options`], reports [`Event`]s,
//! counts in [`Counters`], and describes itself in a [`Snapshot`]. The server opens no socket, reads no clock and
//! writes no file.
//!
//! | folder | contents |
//! |---|---|
//! | `machine` | the machine: it owns the parts below and connects them |
//! | `group` | roles, the configuration and the limits of the configuration number, and the options of other servers |
//! | `sessions` | the sessions of the group, and their ids |
//! | `tokens` | the tokens: data, holders, queues, and the indexes over them |
//! | `knowledge` | which tokens the server knows: surveys, claims of clients, and handovers |
//! | `output` | datagrams, events and counters |
//!
//! No part uses another part. The files outside the folders of the parts define types that all parts share. Start
//! reading at `machine/input.rs`.

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

pub use command::{Command, Durable, NetworkState};
pub use event::Event;
pub use holding::TokenHold;
pub use machine::{LEAVING_MAX, Server, Snapshot, TokenStatus};
pub use options::{
    OptionDifference, OptionValue, Options, OptionsError, PARTY_BYTES, QUEUE_BYTES, SESSION_BYTES,
    TOKEN_BYTES, WAITING_REQUEST_BYTES, clients_max, majority, session_bytes,
};
pub use output::Counters;
pub use reason::DropReason;
pub use standing::{RoleKind, ServerSummary};
