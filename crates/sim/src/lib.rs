//! Deterministic worlds: virtual time, networks with faults, and the machines that ship.
//!
//! Nothing here reads a clock, draws randomness that does not come from the seed, or starts a
//! thread: the same seed makes the same run, to the byte. (`command` does, around the world.)
//!
//! [`kernel`] runs any machine on any network and knows no protocol. Each system has a room of its
//! own beside it, with what it adds: its scenarios, what must hold in them, and what is excused.

#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod andrews;
pub mod command;
pub mod ftn;
pub mod jitterbug;
pub mod kernel;
pub mod lab2;
