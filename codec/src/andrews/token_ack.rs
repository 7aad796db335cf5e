//! TOKEN_ACK, type 5: a node informs its predecessor that the token arrived.
//!
//! No other message travels from a node to its predecessor.
//!
//! ```text
//!   at  bytes  field
//!   12      8  sequence  u64, that of the token
//! ```
//!
//! # Example
//! ```
//! use ring_codec::andrews::{Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "01 05 0000" // version, type, reserved
//!     "00000005 00000008" // srcId, payloadLen
//!     "0000000000000029" // sequence
//! );
//! let message = Message::TokenAck { sequence: 41 };
//! let frame = Frame { src_id: 5, message };
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
    struct TokenAckLayout {
        sequence: U64 = Sequence,
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let body: &TokenAckLayout = payload::view(reader)?;
    Ok(body.sequence.get())
}

pub(super) fn write(writer: &mut Writer<'_>, sequence: u64) {
    let sequence = sequence.into();
    writer.layout(&TokenAckLayout { sequence });
}
