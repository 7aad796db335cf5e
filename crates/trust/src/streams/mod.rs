//! Encrypted streams: an attacker cannot read or change the bytes of a stream, and cannot open a stream.
//!
//! A [`SecureStream`] is one end of a stream. The caller passes the bytes that it reads from the connection to
//! [`SecureStream::receive`], and writes the bytes of [`SecureStream::output`] to the connection. The handshake and the
//! encryption follow the Noise protocol `NNpsk0`, which the crate `snow` implements.

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
