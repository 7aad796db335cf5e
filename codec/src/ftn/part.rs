//! PART, type 41, from a server or a client: a piece of a message that is too long for one datagram (ours).
//!
//! The pieces of one message, in order, are the datagram that the message would be. None of them is itself a PART.
//!
//! ```text
//!   content  long    the sender's number for the message, the same in all its parts
//!   part     int     which part this is, from 0
//!   parts    int     how many there are
//!   bytes    string  its bytes
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
use crate::{DecodeError, Field, Problem};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(i64, i32, i32, &'a [u8]), DecodeError> {
    let content = wire::long(reader, Field::Content)?;
    let offset = reader.offset();
    let part = wire::int(reader, Field::Part)?;
    let parts = wire::int(reader, Field::Parts)?;
    if !(0..parts).contains(&part) {
        let value = part.into();
        return Err(DecodeError::new(
            Field::Part,
            offset,
            Problem::Illegal { value },
        ));
    }
    Ok((content, part, parts, wire::string(reader, Field::Bytes)?))
}

pub(super) fn write(writer: &mut Writer<'_>, content: i64, part: i32, parts: i32, bytes: &[u8]) {
    writer.require((0..parts).contains(&part), Field::Part);
    wire::put(writer, content);
    wire::put(writer, part);
    wire::put(writer, parts);
    wire::put_string(writer, Field::Bytes, bytes);
}
