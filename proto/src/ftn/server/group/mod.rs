//! The group of servers: roles, the configuration and its number, rounds, and the options of other servers.
//!
//! This module sends no messages and knows no tokens. Start reading at `role.rs` and `leadership.rs`.

mod election;
mod leadership;
mod numbers;
mod peer_options;
mod pending;
mod role;
mod state_message;
mod storage;
mod view;

pub(crate) use election::{Election, NO_VOTE, Voter};
pub(crate) use leadership::{EarlyRound, Leadership};
pub(crate) use numbers::{NumberLimits, cold_floor};
pub(crate) use peer_options::{PeerOptions, has_short_client_timeout, terms_of};
pub(crate) use pending::{PENDING_MAX, PendingIds};
pub(crate) use role::{FollowerState, Role};
pub(crate) use state_message::StateMessage;
pub(crate) use storage::Storage;
pub(crate) use view::{View, configuration_of, is_proven, is_unproven, seq_of};
