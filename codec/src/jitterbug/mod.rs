//! Jitterbug: orphans, waiters and a leader, over UDP broadcasts and TCP (`docs/jitterbug/datagrams.md`).
//!
//! The low four bits of every message's first byte are the protocol's version, 1. The high four bits are the type.
//! Integers are big-endian. TR1 and TR2 are datagrams, and the other messages use a TCP stream. [`Terms`] may follow
//! TR1 and TR2. Each type has a module with its layout and a worked example.
//!
//! # Refused messages
//! The decoder reports the first check that fails:
//!
//! | [`field`](crate::DecodeError::field) | [`problem`](crate::DecodeError::problem) | reason |
//! |---|---|---|
//! | any | `Truncated` | the datagram is too short for its type, or the stream ended too early |
//! | `version` | `Unknown` | a version other than 1 |
//! | `type` | `Unknown` | not a number from 0 to 7 |
//! | `type` | `OtherTransport` | a type for streams in a datagram, or the reverse |
//! | `token_id` | `Illegal` | the value is 0 or -2^31, but the random part has 31 bits and is never 0 |
//! | `count` | `TooLarge` | more nodes than the caller allows, or more than [`MAX_NODES`] |
//! | `meta` | `Reserved` | a bit other than bit 0 is set |
//! | `flags` | `Reserved` | a bit other than bits 0 and 1 is set |
//! | `datagram` | `Trailing` | bytes after the message |
//!
//! The encoder refuses the same values.

mod message;
mod node;
mod terms;
mod token_id;

pub mod tp1;
pub mod tp2;
pub mod tp3;
pub mod tp4;
pub mod tp5;
pub mod tp6;
pub mod tr1;
pub mod tr2;

pub use message::{Kind, Message};
pub use node::{Node, node_list_hash};
pub use terms::Terms;
pub use token_id::TokenId;

/// The version of the protocol, in the low four bits of every message's first byte.
pub const VERSION: u8 = 1;
/// The largest number of nodes that a caller can allow in a list.
pub const MAX_NODES: u32 = 65_536;
