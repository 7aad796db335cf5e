//! The systems whose nodes this program runs: their options, links, texts and status. It contains no protocol rules
//! and no loop, and no system uses another one. Each system starts in its `start.rs`.

use ring_host::Program;

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

/// The program that these systems' nodes run in.
pub const PROGRAM: Program = Program("ringd");

/// The default directory of state files.
pub const STATE_DIR: &str = "/var/lib/ringd";
