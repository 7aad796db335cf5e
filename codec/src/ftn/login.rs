//! LOGIN, type 11, from a client: asks for a session.
//!
//! The leader answers with an id. A server that is not the leader names the leader in its answer. The head's `from` is
//! 0, because the client has no id at this time.
//!
//! ```text
//!   p  string  port of the client, as `:portnum`
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "0b 00 00 84d2" // type, from, to, ssig
//!     "05 3a34313030" // p
//! );
//! let header = Header { from: 0, to: 0, ssig: 1234 };
//! let message = Message::Login { p: b":4100" };
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

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    wire::string(reader, Field::P)
}

pub(super) fn write(writer: &mut Writer<'_>, p: &[u8]) {
    wire::put_string(writer, Field::P, p);
}
