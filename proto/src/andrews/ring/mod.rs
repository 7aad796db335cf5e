//! A node's place in the ring: what it is, its connections, and what it asks of the coordinator.

mod frames;
mod inbound;
mod link;
mod membership;
mod peer;
mod plea;
mod proof;
mod role;
mod unsent;

pub(crate) use inbound::Inbound;
pub(crate) use membership::{Follow, Membership, OwnRow};
pub(crate) use peer::Peer;
pub(crate) use plea::{Plea, PleaStep, Situation, Verdict};
pub(crate) use proof::Proof;
pub(crate) use role::Role;
