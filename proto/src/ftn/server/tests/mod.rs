//! The rules of `docs/ftn.md`, each by its name: a test file for a section or a part of one.

#![expect(
    clippy::unchecked_time_subtraction,
    reason = "the periods are constants of the tests"
)]

mod datagrams;
mod election;
mod follower;
mod group;
mod holding;
mod leader;
mod leaving;
mod memory;
mod notation;
mod numbers;
mod parts;
pub(super) mod rig;
mod sessions;
mod survey;
mod terms;
mod tokens;
mod transfer;
mod world;
