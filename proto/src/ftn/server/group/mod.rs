//! Who leads the servers, and what they agree on: roles, the configuration and its number, rounds, and the options of others.

mod announced;
mod election;
mod leadership;
mod numbers;
mod pending;
mod role;
mod state_message;
mod storage;
mod view;

pub(crate) use announced::{Announced, is_short, terms_of};
pub(crate) use election::{Election, NOBODY, Voter};
pub(crate) use leadership::{Leadership, Urgent};
pub(crate) use numbers::{Steps, cold_floor};
pub(crate) use pending::{PENDING_MAX, Pending};
pub(crate) use role::{Following, Role};
pub(crate) use state_message::StateMessage;
pub(crate) use storage::Storage;
pub(crate) use view::{View, configuration_of, is_proven, is_unproven, seq_of};
