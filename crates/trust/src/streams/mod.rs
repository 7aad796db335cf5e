//! Encrypted streams: an attacker can neither read nor change the bytes of a stream, and cannot open one.
//!
//! A [`SecureStream`] is one end of a stream. [`SecureStream::receive`] gets the bytes of the connection.
//! [`SecureStream::output`] has the bytes for the connection. The handshake and the encryption are the Noise protocol
//! `NNpsk0` of the crate `snow`.

mod handshake;
mod keys;
mod preface;
mod record;
mod stream;

pub use keys::StreamKeys;
pub use preface::StreamEnds;
pub use record::RECORD_DATA_MAX;
pub use stream::{SecureStream, StreamState};

#[cfg(test)]
#[path = "stream_tests/mod.rs"]
mod tests;
