//! A note that every node of a network has: the smallest system that needs datagrams, connections,
//! timeouts, a job and a durable record.
//!
//! Each node announces the version of its note in a datagram. A node that hears of a newer version fetches
//! it over a connection, has its checksum verified off the loop, stores it, and only then shows and announces
//! it.

#![forbid(unsafe_code)]

mod event;
mod machine;
mod options;
mod transfer;
mod version;
pub mod wire;

#[cfg(test)]
mod tests;

pub use event::{Event, Failure};
pub use machine::{Command, Job, Net, Note, Notes};
pub use options::Options;
pub use version::Version;
