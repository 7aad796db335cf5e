//! PART, type 41, from a server or a client: a piece of a long message (not in the FTN documents).
//!
//! A message that is too long for one datagram is sent in pieces. The pieces, joined in order, are the message's
//! datagram. A PART is never sent in parts.
//!
//! ```text
//!   content  long    number of the message at the sender, the same in all its parts
//!   part     int     number of this part, from 0
//!   parts    int     number of parts
//!   bytes    string  bytes of the part
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "29 83e8 00 84d2" // type, from, to, ssig
//!     "07" // content
//!     "01 02" // part, parts
//!     "03 616263" // bytes
//! );
//! let header = Header { from: 1000, to: 0, ssig: 1234 };
//! let message = Message::Part { content: 7, part: 1, parts: 2, bytes: b"abc" };
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::wire;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(i64, i32, i32, &'a [u8]), DecodeError> {
    let content = wire::long(reader, Field::Content)?;
    let (part, parts) = wire::part(reader)?;
    Ok((content, part, parts, wire::string(reader, Field::Bytes)?))
}

pub(super) fn write(writer: &mut Writer<'_>, content: i64, part: i32, parts: i32, bytes: &[u8]) {
    wire::put(writer, content);
    wire::put_part(writer, part, parts);
    wire::put_string(writer, Field::Bytes, bytes);
}
