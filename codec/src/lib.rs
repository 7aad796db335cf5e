//! Zero-copy wire formats of the token-ring protocols that `ringd` speaks.
//!
//! Decoding borrows the input, allocates nothing and reads nothing past its end; whatever the
//! bytes are, the outcome is a message or a [`DecodeError`] that names the field and the offset.

#![no_std]
#![forbid(unsafe_code)]

pub mod error;
pub mod lab2;
pub mod mac;

pub use error::{DecodeError, EncodeError, Problem};
pub use mac::MacAddr;
