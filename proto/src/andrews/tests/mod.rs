//! The rules of `docs/board.md`, a test each, on the machine that ships.

mod base;
mod rig;
mod world;

mod bad_input;
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
mod rings;
mod token;
mod ways;
