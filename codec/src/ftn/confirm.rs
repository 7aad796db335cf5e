//! CONFIRM, type 25, from a server: acknowledges a RETURN.
//!
//! A client that gave a token up waits for this message before it requests the token again.
//!
//! ```text
//!   msgnum  long  the number of that RETURN
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "19 00 83e8 84d2" // type, from, to, ssig
//!     "911171" // msgnum
//! );
//! let header = Header { from: 0, to: 1000, ssig: 1234 };
//! let message = Message::Confirm { msgnum: 70_001 };
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

pub(super) fn read(reader: &mut Reader<'_>) -> Result<i64, DecodeError> {
    wire::long(reader, Field::Msgnum)
}

pub(super) fn write(writer: &mut Writer<'_>, msgnum: i64) {
    wire::put(writer, msgnum);
}
