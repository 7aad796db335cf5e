//! The rules of `docs/token-service/protocol/` that concern clients, with one test for each rule. The tests follow
//! the rules and not the code.

#![allow(
    clippy::unchecked_time_subtraction,
    reason = "a test that subtracts too much from a timeout fails"
)]

pub(super) mod rig;

mod catalog;
mod config;
mod datagrams;
mod lease;
mod listing;
mod login;
mod logout;
mod random_inputs;
mod repetition;
mod requests;
mod returns;
mod revokes;
mod schedules;
mod server;
mod simulation;
