//! `ring-board`: a board of posts that the nodes of a coordinated ring keep together (`docs/board.md`).
//!
//! A crate of its own, since it links an HTTP server and clients of databases: a daemon with the right to send raw frames must not.

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
