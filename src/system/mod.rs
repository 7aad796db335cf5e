//! The systems that this program can run a node of: their options, links, names, and what `status`
//! shows. No rules, and no loop. No system names another.

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

/// The directory of the files that keep what must survive a restart, for who is not told another.
pub const STATE_DIR: &str = "/var/lib/ringd";
