//! REVOKE, type 23, from a server: asks for a token back.
//!
//! The client answers with a RETURN that has the flag DEASSIGN, even if it no longer holds the token.
//!
//! ```text
//!   name  string  name of the token
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "17 00 83e8 84d2" // type, from, to, ssig
//!     "05 737761726d" // name
//! );
//! let header = Header { from: 0, to: 1000, ssig: 1234 };
//! let message = Message::Revoke { name: b"swarm" };
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
    wire::string(reader, Field::Name)
}

pub(super) fn write(writer: &mut Writer<'_>, name: &[u8]) {
    wire::put_string(writer, Field::Name, name);
}
