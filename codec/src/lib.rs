//! Zero-copy wire formats of the token-ring protocols that `ringd` speaks.
//!
//! # What it promises
//! - Whatever the bytes are, decoding ends with a message or with a [`DecodeError`] that names the
//!   field and its offset. It never panics and never reads past the end of its input.
//! - Decoding borrows the input and allocates nothing; the work is proportional to the input's
//!   length, and a count is checked against its limit before anything is done for it.
//! - Encoding writes into the caller's buffer: either the whole message, in exactly the predicted
//!   number of bytes, or nothing and an [`EncodeError`]. What it writes decodes to the same message.
//!
//! # What it does not promise
//! It knows no state: a message that decodes is well-formed, not welcome. Who may say what, and
//! when, is the protocol machines' business.

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
/// A big-endian 32-bit integer in place, as [`andrews::Election::RingBased`] lists them.
pub use zerocopy::byteorder::network_endian::U32;
