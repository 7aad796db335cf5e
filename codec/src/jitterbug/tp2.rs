//! TP2, type 3, on a stream: the candidate's node list differs from the leader's list.
//!
//! The message is only one byte. The leader then sends its list, TP4.
//!
//! ```text
//!   at  bytes  field
//!    0      1  version, type  0x31: version 1 in the low four bits, type 3 in the high
//! ```
//!
//! # Example
//! ```
//! use ring_codec::jitterbug::{MAX_NODES, Message};
//! use ring_codec::{StreamState, Streamed};
//!
//! let bytes = hex_literal::hex!(
//!     "31" // version 1, type 3
//! );
//! let message = Message::Tp2;
//! let decoded = Message::decode_stream(&bytes, StreamState::Open, MAX_NODES)?;
//! assert_eq!(decoded, Streamed::Message { message, consumed: bytes.len() });
//! # let mut buf = [0xaa; 64];
//! # let len = message.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
