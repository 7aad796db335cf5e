//! `ring-board`: a board of posts that the nodes of a coordinated ring keep together (`docs/board.md`).
//!
//! This is a crate of its own because it links an HTTP server and database clients. `ringd` may send raw frames, and
//! must not contain that much code. Start with `node/start.rs`.

#![forbid(unsafe_code)]

pub mod database;
mod error;
mod http;
pub mod list;
mod node;
mod observe;
pub mod options;
pub mod posts;

pub use node::run;
