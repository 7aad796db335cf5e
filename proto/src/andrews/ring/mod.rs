//! A node's place in the ring: what it is, its connections, and what it asks of the coordinator.

mod frames;
mod inbound;
mod link;
mod plea;
mod proof;
mod role;
mod unsent;

pub(crate) use frames::FrameReader;
pub(crate) use inbound::{Inbound, Predecessor};
pub(crate) use link::{Attempt, Link, Lost, Membership, Successor, Verdict};
pub(crate) use plea::Plea;
pub(crate) use proof::Proof;
pub(crate) use role::Role;
pub(crate) use unsent::Unsent;
