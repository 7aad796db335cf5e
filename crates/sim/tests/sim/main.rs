//! The simulated world, as those see it who use it: the same run for the same seed, every fault
//! met, every schedule that once failed kept.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests are around the worlds"
)]

mod andrews;
mod command;
mod ftn;
mod jitterbug;
mod kept;
mod lab2;
mod seeds;
