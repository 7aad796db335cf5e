//! Deterministic simulations of the four systems: virtual time, networks with faults, and the real state machines.
//!
//! A simulation reads no clock and starts no thread, and all random numbers come from the seed. So the same seed makes
//! the same run, byte by byte. Only `command` does input and output.
//!
//! [`kernel`] runs any state machine on any network, and contains no protocol. Each system has a module with its
//! schedules, rules and exemptions. Start with `kernel::simulation`, then `lab2::run`.

#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod andrews;
pub mod command;
pub mod ftn;
pub mod jitterbug;
pub mod kernel;
pub mod lab2;
pub mod recording;
