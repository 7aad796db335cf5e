//! The systems that this program can run a node of: their options, links, names, and what `status`
//! shows. No rules, and no loop.
//!
//! A system's folder may name `ring_codec` and `ring_proto`, there its own protocol and what all have in common; of
//! this crate [`control`](ring_control), [`driver`](ring_runtime::driver), [`fencing`](crate::fencing),
//! [`host`](crate::host), [`observe`](crate::observe), [`sys`](crate::sys), [`text`](ring_text) and [`token`](crate::token); and this module. It names no other
//! system, nor [`ctl`](crate::ctl), [`sim`](ring_sim) or [`cli`](crate::cli), which lie above or beside it.
//! `.ci/purity` fails with the line that does. What is to be written to add a system is in `docs/contributing.md`.

mod error;
pub mod ftn;
mod interface;
pub mod jitterbug;
pub mod lab2;
mod placed_file;
mod record_file;
mod status_lines;
mod values;
mod write_warnings;

pub use error::Error;

use crate::host::Program;

/// The program that these systems' nodes run in.
pub const PROGRAM: Program = Program("ringd");

/// The directory of the files that keep what must survive a restart, for who is not told another.
pub const STATE_DIR: &str = "/var/lib/ringd";
