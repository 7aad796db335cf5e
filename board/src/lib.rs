//! `ring-board`: a board of posts. The nodes of a coordinated ring share the board (`docs/board/protocol/README.md`).
//!
//! `ring-board` is a separate crate because it links an HTTP server and database clients. `ringd` may send raw frames,
//! so it should not contain that much code. Start with `node/start.rs`.

#![forbid(unsafe_code)]

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
