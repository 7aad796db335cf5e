//! The place of a node in the ring: its state, its connections, and its requests to the coordinator. Start with
//! `role.rs`.

mod frame_reader;
mod inbound;
mod membership;
mod peer;
mod proof;
mod repeated_request;
mod role;
mod successor_link;
mod write_buffer;

pub(crate) use inbound::Inbound;
pub(crate) use membership::{Membership, OwnRow, RowAction};
pub(crate) use peer::Peer;
pub(crate) use proof::Proof;
pub(crate) use repeated_request::{ProcessEvidence, RepeatedRequest, RequestStep, StepInput};
pub(crate) use role::Role;
