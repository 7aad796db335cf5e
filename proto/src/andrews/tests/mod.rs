//! Tests of the rules of `docs/board/protocol/README.md` on the state machine. The tests need no sockets, no clock and
//! no database. Start with `rig.rs`, one node in virtual time.

pub(super) mod fake_database;
mod network;
pub(super) mod rig;
pub(super) mod steps;

mod prelude;

mod bad_input;
mod bully;
mod chaos;
mod connections;
mod database;
mod differences;
mod elections;
mod join;
mod looks;
mod proof;
mod recovery;
mod requests;
mod ring_methods;
mod rings;
mod shutdown;
mod token;
mod transports;
mod unlisted_nodes;
