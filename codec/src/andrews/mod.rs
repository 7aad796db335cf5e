//! Andrews: a ring that an elected coordinator manages (`docs/board/messages.md`).
//!
//! A frame consists of a header of 12 bytes and a payload. TCP and UDP use the same frames. Integers are big-endian.
//! Each type has a module with its layout and a worked example.
//!
//! ```text
//!   at  bytes  field
//!    0      1  version     1
//!    1      1  type        1 to 6
//!    2      2  reserved    0
//!    4      4  srcId       u32, the sender
//!    8      4  payloadLen  u32, at most 65,536 and exactly the length of the type
//!   12         payload
//! ```
//!
//! # Refused frames
//! The decoder reports the first check that fails. On a stream the decoder checks each field as soon as the field
//! arrives. So a receiver never waits for the rest of an illegal frame.
//!
//! | [`field`](crate::DecodeError::field) | [`problem`](crate::DecodeError::problem) | reason |
//! |---|---|---|
//! | any | `Truncated` | the datagram is too short, or the stream ended too early |
//! | `version` | `Unknown` | a version other than 1 |
//! | `type` | `Unknown` | not a number from 1 to 6 |
//! | `reserved` | `Reserved` | a value other than 0, in either header |
//! | `payloadLen` | `TooLarge` | a length above [`MAX_PAYLOAD_LEN`] |
//! | `payloadLen` | `WrongLength` | a length that contradicts the message's type or count |
//! | `method` | `Unknown` | not a number from 1 to 3 |
//! | `electionType` | `Unknown` | a type that the method does not have |
//! | `count` | `TooLarge` | a number above [`MAX_IDS`] |
//! | `datagram` | `Trailing` | bytes after the frame |
//!
//! The encoder refuses the same values.

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
/// The length of a frame's header in bytes.
pub const HEADER_LEN: usize = 12;
/// The longest payload, in bytes.
pub const MAX_PAYLOAD_LEN: usize = 65_536;
/// The largest number of candidates in a ring-based election: the number that fits into the longest payload.
pub const MAX_IDS: usize = (MAX_PAYLOAD_LEN - 8) / 4;
