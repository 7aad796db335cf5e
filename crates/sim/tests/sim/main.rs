//! Tests of the simulator from outside: equal runs for equal seeds, every kind of fault, and every kept schedule.

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests run outside the simulations"
)]

mod andrews;
mod attacks;
mod command;
mod ftn;
mod jitterbug;
mod kept;
mod lab2;
mod recordings;
mod seeds;
