//! TRANSFERRED, type 35, between servers: acknowledges a part of a TRANSFER (not in the FTN documents).
//!
//! The receiver answers every copy of the part.
//!
//! ```text
//!   msgnum  long  number of the transfer
//!   part    int   number of the part
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "23 01 00 84d2" // type, from, to, ssig
//!     "05" // msgnum
//!     "00" // part
//! );
//! let header = Header { from: 1, to: 0, ssig: 1234 };
//! let message = Message::Transferred { msgnum: 5, part: 0 };
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

pub(super) fn read(reader: &mut Reader<'_>) -> Result<(i64, i32), DecodeError> {
    Ok((
        wire::long(reader, Field::Msgnum)?,
        wire::int(reader, Field::Part)?,
    ))
}

pub(super) fn write(writer: &mut Writer<'_>, msgnum: i64, part: i32) {
    wire::put(writer, msgnum);
    wire::put(writer, part);
}
