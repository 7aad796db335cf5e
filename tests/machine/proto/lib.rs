#![forbid(unsafe_code)]
//! The machines of ringd, for fuzzing: the very files of `src/proto`, without all that the daemon
//! needs besides.

#[path = "../../../src/proto/mod.rs"]
pub mod proto;
