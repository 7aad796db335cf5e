//! PARTED, type 42, from a server or a client: acknowledges parts of a message (not in the FTN documents).
//!
//! The receiver of a message answers every PART with a PARTED.
//!
//! ```text
//!   content  long    number of the message
//!   came     string  one bit per arrived part, the first part's is the lowest of the first byte; empty: all have
//! arrived
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "2a 00 83e8 84d2" // type, from, to, ssig
//!     "07" // content
//!     "01 02" // arrived: the second part
//! );
//! let header = Header { from: 0, to: 1000, ssig: 1234 };
//! let datagram = Datagram::new(header, Message::Parted { content: 7, arrived: &[0b10] });
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

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(i64, &'a [u8]), DecodeError> {
    Ok((
        wire::long(reader, Field::Content)?,
        wire::string(reader, Field::Came)?,
    ))
}

pub(super) fn write(writer: &mut Writer<'_>, content: i64, came: &[u8]) {
    wire::put(writer, content);
    wire::put_string(writer, Field::Came, came);
}
