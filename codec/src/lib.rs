//! Zero-copy wire formats of the token-ring protocols that `ringd` speaks.
//!
//! # Guarantees
//! - Decoding any bytes ends with a message, or with a [`DecodeError`] that names the field and its offset. The decoder
//!   never panics and never reads past the end of its input.
//! - Decoding borrows the input and allocates nothing. The work of decoding is proportional to the length of the input,
//!   because counts are checked against their limits first.
//! - Encoding writes the whole message into the caller's buffer, in exactly the predicted number of bytes. If encoding
//!   is impossible, the encoder writes nothing and returns an [`EncodeError`]. Encoded bytes decode to the same
//!   message.
//!
//! # Limits
//! This crate has no state. A message that decodes is well-formed, but the state machines in `ring-proto` decide
//! whether it is valid now. Start reading with [`lab2`].

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod andrews;
pub mod error;
mod field;
pub mod ftn;
pub mod jitterbug;
pub mod lab2;
mod layout;
pub mod list;
pub mod mac;
mod messages;
mod reader;
pub mod stream;
mod writer;

pub use error::{DecodeError, EncodeError, Problem};
pub use field::Field;
pub use list::List;
pub use mac::MacAddr;
pub use stream::{StreamState, Streamed};
/// A big-endian 32-bit integer in a borrowed list, for example the ids in [`andrews::Election::RingBased`].
pub use zerocopy::byteorder::network_endian::U32;
/// A big-endian 64-bit integer in a borrowed list, for example the sums in [`lab2::Message::LocksQuestion`].
pub use zerocopy::byteorder::network_endian::U64;
