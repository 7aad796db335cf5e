//! The rules of `docs/token-service/protocol/` that concern servers. Each file contains the tests of one page, or of a
//! part of a page.

#![expect(
    clippy::unchecked_time_subtraction,
    reason = "the periods are constants of the tests"
)]

mod datagrams;
mod departure;
mod election;
mod follower;
mod group;
mod holding;
mod leader;
mod memory;
mod network;
mod notation;
mod numbers;
mod parts;
pub(super) mod rig;
mod sessions;
mod survey;
mod terms;
mod tokens;
mod transfer;
