//! The part of the simulator that knows no protocol: virtual time, random numbers, networks, and processes that run
//! the daemon's [`Driver`](ring_runtime::driver::Driver).
//!
//! A [`system::System`] adds the meaning of messages, its own events, and its checks. All calls are static, for
//! speed. Start with [`world`].

pub mod checks;
pub mod clock;
pub(crate) mod datagram_log;
pub mod faults;
pub mod generate;
pub mod kinds;
pub mod messages;
pub mod network;
pub mod node;
pub mod queue;
pub mod rng;
pub mod run;
pub mod schedule;
pub mod shrink;
pub mod stats;
pub mod stranger;
pub mod streams;
pub mod system;
pub mod trace;
mod transport;
pub mod violation;
pub mod world;
