//! The rules of `docs/board.md`, a test each, on the machine that ships.

mod base;
mod rig;
mod world;

mod rings;
