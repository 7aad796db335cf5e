//! TOKEN, type 4: a node passes the token to its successor.
//!
//! Each hop adds one to the sequence. A sender repeats a token if the acknowledgement is late. The receiver recognizes
//! the duplicate by its sequence.
//!
//! ```text
//!   at  bytes  field
//!   12      8  sequence  u64
//! ```
//!
//! # Example
//! ```
//! use ring_codec::andrews::{Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "01 04 0000" // version, type, reserved
//!     "00000002 00000008" // srcId, payloadLen
//!     "0000000000000029" // sequence
//! );
//! let message = Message::Token { sequence: 41 };
//! let frame = Frame { src_id: 2, message };
//! assert_eq!(Frame::decode_datagram(&bytes)?, frame);
//! # let mut buf = [0xaa; 64];
//! # let len = frame.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::U64;

use super::payload;
use crate::DecodeError;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

layout! {
    /// The payload, 8 bytes.
    struct TokenLayout {
        sequence: U64 = Sequence,
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let body: &TokenLayout = payload::view(reader)?;
    Ok(body.sequence.get())
}

pub(super) fn write(writer: &mut Writer<'_>, sequence: u64) {
    let sequence = sequence.into();
    writer.layout(&TokenLayout { sequence });
}
