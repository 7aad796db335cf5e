//! `ring-board`: a board of posts. The nodes of a coordinated ring share the board (`docs/board/protocol/README.md`).
//!
//! `ring-board` is a separate crate because it links an HTTP server and database clients. `ringd` may send raw frames,
//! so it should not contain that much code. Start with `node/start.rs`.

#![forbid(unsafe_code)]

pub mod command_line;
pub mod database;
mod error;
mod events;
mod http;
pub mod list;
mod node;
mod observe;
pub mod options;
pub mod posts;
mod troubles;

pub use node::run;

/// Reads a new password, and returns the line for the password file of the page.
///
/// # Errors
/// Fails if the password cannot be read, or if it is too short.
pub fn make_password_line() -> Result<String, ring_host::Error> {
    http::make_line().map_err(ring_host::Error::Usage)
}
