//! Signatures of messages. A sender without a key cannot change anything (`docs/reference/trust.md`).
//!
//! [`Authenticator::seal`] appends a trailer with a MAC to a message. [`Authenticator::open`] verifies the trailer.
//! [`Authenticator::poll_transmit`] returns challenges and answers. A sender that answers a challenge proves that it is
//! running.
//!
//! # Guarantees
//! - The crate does no input and output. Time and random numbers are inputs.
//! - Opening a message returns a verdict and never panics, whatever bytes the message contains. The work is
//!   proportional to the length of the message.
//! - Sealing and opening allocate no memory after the first message of a peer.
//! - Error messages and `Debug` texts never contain a key. Keys are overwritten with zeros when they are dropped. An
//!   exception are the derived keys of streams: the crate `snow` does not overwrite its copies.
//!
//! # Limits
//! The crate does not know the protocols. The messages are signed, but not encrypted. The feature `streams` adds
//! encrypted streams.

#![forbid(unsafe_code)]

mod addresses;
mod authenticator;
mod client_keys;
mod counts;
mod keyring;
mod last_signer;
mod mac;
mod node_keys;
mod nonces;
mod outbox;
mod peers;
mod replay_window;
#[cfg(feature = "streams")]
mod streams;
mod trailer;

pub use addresses::{Destination, Origin, PseudoHeader};
pub use authenticator::{Authenticator, PeerStatus, Verdict};
pub use client_keys::{CLIENT_KEYS_MAX, ClientKeys, NamePatterns};
pub use counts::{Counts, DropReason};
pub use keyring::{KEYS_MAX, Key, KeyId, Keyring, KeyringError, KeyringProblem};
pub use last_signer::LastSigner;
pub use peers::PEERS_MAX;
#[cfg(feature = "streams")]
pub use streams::{RECORD_DATA_MAX, SecureStream, StreamEnds, StreamKeys, StreamState};
pub use trailer::{NONCE_LEN, TRAILER_LEN, len_without_trailer};

// The fuzz targets include some files of this crate. In these files, the paths begin with `ring_trust`.
#[cfg(test)]
extern crate self as ring_trust;

#[cfg(test)]
mod attack_tests;
#[cfg(test)]
mod fuzz_corpus;
#[cfg(all(test, feature = "streams"))]
mod stream_attack_tests;
#[cfg(test)]
mod vector_tests;
