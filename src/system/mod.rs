//! The systems whose nodes this program runs: their options, links, texts and status. This module contains no protocol
//! rules and no loop. The code of one system does not use the code of another system. The code of each system begins in
//! its `start.rs`.

use ring_host::Program;

mod error;
mod events;
pub mod ftn;
mod interface;
pub mod jitterbug;
pub mod lab2;
mod placed_file;
mod record_file;
mod status_lines;
mod troubles;
mod values;
mod write_warnings;

pub use error::Error;

/// The name of `ringd`, the program that runs the nodes of these systems.
pub const PROGRAM: Program = Program("ringd");

/// The default directory of state files.
pub const STATE_DIR: &str = "/var/lib/ringd";
