//! The rules of the protocol, a test each, on the machine that ships.
//!
//! `rig` holds one machine at arm's length: a test says what it hears and reads what it says.
//! `world` holds several on a segment that may lose, double, delay and cut. Everything is taken
//! from `docs/protocol.md`, nothing from the machine's code.

#![allow(
    clippy::unchecked_time_subtraction,
    reason = "a test that takes too much from a time-out fails"
)]

mod node;
mod notation;
pub(super) mod rig;
mod world;

mod apart;
mod backing;
mod cards;
mod constants;
mod crowd;
mod data;
mod forming;
mod frames;
mod generating;
mod grade;
mod hearing;
mod invariants;
mod lease;
mod looser;
mod membership;
mod missing;
mod once;
mod once_rig;
mod order;
mod outgrown;
mod owner;
mod passing;
mod pause;
mod penalties;
mod promising;
mod reach;
mod rivals;
mod sending;
mod shared;
mod shutdown;
mod silence;
mod stamps;
mod storage;
mod sweep;
mod sync;
mod transitions;
mod trouble;
mod unsure;
mod waiter;
mod wanting;
