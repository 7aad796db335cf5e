//! The part of the simulator that is independent of protocols: virtual time, random numbers, networks, and processes
//! that run the daemon's [`Driver`](ring_runtime::driver::Driver).
//!
//! A [`system::System`] adds the meaning of messages, its own events, and its checks. All calls use static dispatch,
//! for speed. Start with [`simulation`].

mod attacker;
pub mod checked_streams;
pub(crate) mod checks;
pub mod clock;
pub mod conditions;
mod datagram_delivery;
pub(crate) mod datagram_log;
pub mod faults;
pub(crate) mod generate;
pub mod keys;
pub mod kinds;
pub mod node;
pub mod queue;
pub mod rng;
pub mod run;
pub mod schedule;
pub(crate) mod shrink;
pub mod signed_link;
pub mod simulation;
pub mod stats;
pub(crate) mod stranger;
mod stream_attacker;
mod stream_delivery;
pub mod streams;
pub mod system;
pub mod trace;
pub mod violation;
