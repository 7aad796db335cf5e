//! The rules of `docs/ftn.md` that concern clients, a test each, on the machine that ships. Everything is
//! taken from the page, nothing from the machine's code.

#![allow(
    clippy::unchecked_time_subtraction,
    reason = "a test that takes too much from a time-out fails"
)]

pub(super) mod rig;

mod catalog;
mod config;
mod datagrams;
mod lease;
mod listing;
mod login;
mod logout;
mod repeating;
mod requesting;
mod returning;
mod revoking;
mod schedules;
mod server;
mod whole_lives;
mod world;
