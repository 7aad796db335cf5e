//! SUCCESSOR, type 2: the coordinator tells a node its successor.
//!
//! The coordinator sends a SUCCESSOR to a joining node, to that node's new predecessor, and to a node whose successor
//! failed.
//!
//! ```text
//!   at  bytes  field
//!   12      4  successorId  u32
//! ```
//!
//! # Example
//! ```
//! use ring_codec::andrews::{Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "01 02 0000" // version, type, reserved
//!     "00000008 00000004" // srcId, payloadLen
//!     "00000005" // successorId
//! );
//! let message = Message::Successor { successor_id: 5 };
//! let frame = Frame { src_id: 8, message };
//! assert_eq!(Frame::decode_datagram(&bytes)?, frame);
//! # let mut buf = [0xaa; 64];
//! # let len = frame.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::U32;

use super::payload;
use crate::DecodeError;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

layout! {
    /// The payload, 4 bytes.
    struct SuccessorLayout {
        successor_id: U32 = SuccessorId,
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<u32, DecodeError> {
    let body: &SuccessorLayout = payload::view(reader)?;
    Ok(body.successor_id.get())
}

pub(super) fn write(writer: &mut Writer<'_>, successor_id: u32) {
    let successor_id = successor_id.into();
    writer.layout(&SuccessorLayout { successor_id });
}
