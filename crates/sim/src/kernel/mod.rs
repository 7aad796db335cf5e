//! The part of the simulator that knows no protocol: virtual time, chance, a network that carries
//! bytes between nodes, and processes that are pumped by the daemon's
//! [`Driver`](ring_runtime::driver::Driver).
//!
//! A [`system::System`] says what its messages mean, what happens in it alone, and what must hold in
//! it. All of that is known when the program is compiled: no call is virtual.

pub mod checks;
pub mod clock;
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
