//! The rules of `docs/board.md`, a test each, on the machine that ships.

pub(super) mod base;
pub(super) mod rig;
pub(super) mod steps;
mod world;

mod prelude;

mod bad_input;
mod bully;
mod chaos;
mod counter_examples;
mod database;
mod elections;
mod hellos;
mod joining;
mod leaving;
mod looks;
mod proof;
mod recovery;
mod requests;
mod ring_methods;
mod rings;
mod strangers;
mod token;
mod ways;
