//! Andrews: a ring kept by a coordinator, with elections (`docs/wire-formats.md`, "Andrews").
//!
//! A frame is a head of 12 bytes and a payload, the same on TCP and in UDP datagrams. Integers are
//! big-endian. Each type has a module with its layout and a worked example.
//!
//! ```text
//!   at  bytes  field
//!    0      1  version     1
//!    1      1  type        1 to 6
//!    2      2  reserved    0
//!    4      4  srcId       u32, the sender
//!    8      4  payloadLen  u32, at most 65,536 and what the type calls for
//!   12         payload
//! ```
//!
//! # What is refused
//! The first that fails is reported. On a stream each check is made as soon as its field is there,
//! so that a frame that cannot become legal is never waited for.
//!
//! | [`field`](crate::DecodeError::field) | [`problem`](crate::DecodeError::problem) | reason |
//! |---|---|---|
//! | any | `Truncated` | the datagram, or the ended stream, is too short |
//! | `version` | `Unknown` | not 1 |
//! | `type` | `Unknown` | none of 1 to 6 |
//! | `reserved` | `Reserved` | not 0, in either head |
//! | `payloadLen` | `TooLarge` | above [`MAX_PAYLOAD_LEN`] |
//! | `payloadLen` | `WrongLength` | not what the message's type, or its count, calls for |
//! | `method` | `Unknown` | none of 1 to 3 |
//! | `electionType` | `Unknown` | none of those that the method has |
//! | `count` | `TooLarge` | above [`MAX_IDS`] |
//! | `datagram` | `Trailing` | bytes after the frame |
//!
//! Encoding refuses what decoding would refuse.

mod election;
mod frame;
mod message;
mod payload;

pub mod coordinator_election;
pub mod join;
pub mod successor;
pub mod successor_request;
pub mod token;
pub mod token_ack;

pub use election::{Election, Method};
pub use frame::Frame;
pub use message::{Kind, Message};

/// The version of the format.
pub const VERSION: u8 = 1;
/// Bytes of a frame's head.
pub const HEADER_LEN: usize = 12;
/// The longest payload, in bytes.
pub const MAX_PAYLOAD_LEN: usize = 65_536;
/// The most candidates of a ring-based election: what the longest payload holds.
pub const MAX_IDS: usize = (MAX_PAYLOAD_LEN - 8) / 4;
