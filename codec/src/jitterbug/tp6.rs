//! TP6, type 7, on a stream: the leader sends its terms before TP1.
//!
//! ```text
//!   at  bytes  field
//!    0      1  version, type  0x71: version 1 in the low four bits, type 7 in the high
//!    1     33  terms          see `Terms`
//! ```
//!
//! # Example
//! ```
//! use ring_codec::jitterbug::{MAX_NODES, Message, Terms};
//! use ring_codec::{StreamState, Streamed};
//!
//! let bytes = hex_literal::hex!(
//!     "71"               // version 1, type 7
//!     "0007a120"         // lease: 500 ms
//!     "0007a120"         // shortest: 500 ms
//!     "0007a120"         // longest: 500 ms
//!     "000007d0"         // renew: 2 s
//!     "000001f4"         // pass: 500 ms
//!     "00000000"         // follows: it leads
//!     "2366c4206b65ab45" // policy: of counter and greater
//!     "01"               // flags: followed
//! );
//! let terms = Terms {
//!     lease_us: 500_000,
//!     shortest_us: 500_000,
//!     longest_us: 500_000,
//!     renew_ms: 2_000,
//!     pass_ms: 500,
//!     follows: 0,
//!     policy: 0x2366_c420_6b65_ab45,
//!     is_followed: true,
//!     asks: false,
//! };
//! let message = Message::Tp6 { terms };
//! let decoded = Message::decode_stream(&bytes, StreamState::Open, MAX_NODES)?;
//! assert_eq!(decoded, Streamed::Message { message, consumed: bytes.len() });
//! # let mut buf = [0xaa; 64];
//! # let len = message.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Terms;
use crate::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Terms, DecodeError> {
    let terms = Terms::read(reader)?;
    Ok(terms)
}

pub(super) fn write(writer: &mut Writer<'_>, terms: Terms) {
    terms.write(writer);
}
