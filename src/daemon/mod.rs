//! The daemon.
mod duration;
mod error;
mod options;
mod state_file;
pub use error::Error;
pub use options::{LogFormat, Options};
pub use state_file::{Found, StateFile, WriteFailures};
